package workers

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer/external"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// Training is what the role gpu provides to trainers that run other programs.
type Training struct {
	// Work is the folder for jobs and downloaded policies. It is safe to delete when nothing runs. "" is a folder below
	// the system's temporary one.
	Work string

	GPUs         []string // as CUDA_VISIBLE_DEVICES names them; nil: those that the machine has
	LlamaFactory string   // the program; "": llamafactory-cli on the PATH
	Python       string   // interpreter with the program's packages; "": the program's own
	Shares       string   // URL of the gateway whose server uses the same GPU and sleeps during updates; "": none
	SharesKey    func() string
}

// maxTabs limits the episodes per browser that follow from the machine.
const maxTabs = 64

// placeMemory is what a place for an episode needs, with its share of a browser, in bytes.
const placeMemory = 400 << 20

// fill replaces zeros by what follows from the machine: places for episodes from cores and memory, one update per GPU,
// and four model calls per core, because they wait more than they compute.
func (o *Options) fill(ctx context.Context) error {
	cores := runtime.GOMAXPROCS(0) // in a container with a limit, that
	if o.Browsers == 0 {
		o.Browsers = 1
	}
	if o.Tabs == 0 {
		o.Tabs = min(max(1, cores*3/2), max(1, int(memory()/placeMemory)), maxTabs)
	}
	if o.Training.GPUs == nil {
		o.Training.GPUs = gpus(ctx)
	}
	if o.Updates == 0 {
		o.Updates = len(o.Training.GPUs)
	}
	if o.Updates == 0 {
		o.Updates = max(2, cores/2)
	}
	if o.Calls == 0 {
		o.Calls = 4 * max(1, cores/2)
	}
	if o.Drain == 0 {
		o.Drain = 5 * time.Second
	}
	if o.Training.Work == "" {
		o.Training.Work = filepath.Join(os.TempDir(), fmt.Sprintf("collabui-work-%d", os.Getuid()))
	}

	var err error
	if o.Training.Work, err = filepath.Abs(o.Training.Work); err != nil {
		return fault.As(fault.Invalid, err)
	}
	for _, folder := range o.ownFolders() {
		if err := ownFolder(folder); err != nil {
			return err
		}
	}

	return nil
}

// ownFolders returns the folders in which training programs run, and from which an engine loads adapters.
func (o Options) ownFolders() (out []string) {
	serves := slices.Contains(o.Roles, RoleServe)
	if serves && o.Serve.Adapters != "" {
		out = append(out, o.Serve.Adapters)
	}
	if slices.Contains(o.Roles, workflows.QueueGPU) || serves && o.Serve.Adapters == "" {
		out = append(out, o.Training.Work)
	}

	return out
}

// ownFolder makes a folder whose files no other account may change. In a folder that all accounts share, such as /tmp,
// another account may have made it first, and could change what runs there.
func ownFolder(path string) error {
	shared, err := os.Stat(filepath.Dir(path))
	if err != nil || shared.Mode()&os.ModeSticky == 0 {
		return nil // whoever trains makes it
	}
	err = os.Mkdir(path, 0o700)
	if err == nil || errors.Is(err, syscall.EROFS) { // whoever trains says so
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return fault.As(fault.Invalid, err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fault.As(fault.Invalid, err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	own := ok && int(owner.Uid) == os.Getuid()
	mode := info.Mode().Perm()
	switch {
	case info.IsDir() && own && mode&0o022 != 0:
		return fault.As(fault.Invalid, os.Chmod(path, mode&^0o022))
	case info.IsDir() && (own || ok && owner.Uid == 0 && mode&0o002 == 0): // root gave it to this account
		return nil
	}

	return fault.New(fault.Invalid, "the folder %s is another account's: name another one with --work or --adapters",
		path)
}

// describe returns what a worker offers, as attributes of a log line.
func (o Options) describe() []any {
	attributes := []any{"identity", identity(), "roles", strings.Join(o.Roles, ",")}
	for _, r := range o.Roles {
		switch r {
		case workflows.QueueRollout:
			attributes = append(attributes, "episodes", o.Browsers*o.Tabs)
		case workflows.QueueModel:
			attributes = append(attributes, "calls", o.Calls)
		case workflows.QueueGPU:
			attributes = append(attributes, "updates", o.Updates, "gpus", strings.Join(o.Training.GPUs, ","))
		}
	}

	return attributes
}

// memory returns the bytes of memory that this process may use: the memory of the machine, or less in a container with
// a limit.
func memory() uint64 { return memoryOf("/proc/meminfo", "/sys/fs/cgroup/memory.max") }

func memoryOf(machine, container string) uint64 {
	all := uint64(8 << 30)
	raw, err := os.ReadFile(machine)
	var kb uint64
	if err == nil {
		_, err = fmt.Sscanf(string(raw), "MemTotal: %d kB", &kb)
	}
	if err == nil {
		all = kb << 10
	}
	if raw, err = os.ReadFile(container); err != nil {
		return all
	}
	limit, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64) // or "max"
	if err != nil {
		return all
	}

	return min(all, limit)
}

// gpus returns the devices that this process may use: none without an NVIDIA driver. A negative id in
// CUDA_VISIBLE_DEVICES means none.
func gpus(ctx context.Context) []string {
	if value, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set {
		ids := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })

		return slices.DeleteFunc(ids, func(id string) bool { return strings.HasPrefix(id, "-") })
	}

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=index", "--format=csv,noheader")
	command.Env = external.Environ()
	out, err := command.Output()
	if err != nil {
		return []string{}
	}

	return strings.Fields(string(out))
}

// host is what trainers get.
func (t Training) host(b store.Bucket) catalog.Host {
	h := catalog.Host{
		LlamaFactory: t.LlamaFactory,
		TinyCheckpoint: func(job string, step int) string {
			return fmt.Sprintf("%s%06d.json", checkpoints(job), step)
		},
		Host: external.Host{
			Bucket: b, Checkpoints: checkpoints, Work: t.Work, Devices: external.NewDevices(t.GPUs), Python: t.Python,
		},
	}
	if t.Shares != "" {
		h.Share = &external.Share{URL: t.Shares, Key: t.SharesKey}
	}

	return h
}

// checkpoints puts a job's checkpoints next to its result: the job's id is a key of the store.
func checkpoints(job string) string { return strings.TrimSuffix(job, ".json") + "-checkpoint-" }
