package gateway

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/store"
)

// realEngine is a real vLLM or SGLang.
type realEngine struct {
	t    testing.TB
	addr string
	args []string // with the program, but without the address
	env  []string
	keep int     // number of adapters for which it has room
	temp float64 // temperature at which it repeats its answers
	cmd  *exec.Cmd
	done chan struct{}
}

// vllmWith returns a vLLM with room for the given number of adapters.
func vllmWith(adapters int, program, model string, args ...string) *realEngine {
	n := strconv.Itoa(adapters)

	return &realEngine{
		temp: 1,
		keep: adapters,
		args: append([]string{program, "serve", model, "--served-model-name", "base",
			"--enable-lora", "--max-loras", n, "--max-cpu-loras", n, "--max-lora-rank", "8",
			"--generation-config", "vllm", "--logprobs-mode", "processed_logprobs"}, args...),
		env: []string{"VLLM_ALLOW_RUNTIME_LORA_UPDATING=True", "VLLM_NO_USAGE_STATS=1"},
	}
}

// onCPU returns a vLLM on the CPU.
func onCPU(adapters int, program, model string) *realEngine {
	e := vllmWith(adapters, program, model, "--dtype", "float32", "--max-model-len", "1024", "--enforce-eager")
	e.env = append(e.env, "VLLM_CPU_KVCACHE_SPACE=1", "CUDA_VISIBLE_DEVICES=")

	return e
}

// realVLLM returns a vLLM on the CPU with room for two adapters.
func realVLLM(program, model string) *realEngine { return onCPU(2, program, model) }

// realSGLang returns an SGLang on the CPU with room for two adapters. It respects seeds only with
// --enable-deterministic-inference, which is not available on a CPU.
func realSGLang(program, model string) *realEngine {
	modules := []string{"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
	args := []string{program, "--model-path", model, "--served-model-name", "base",
		"--enable-lora", "--max-loras-per-batch", "2", "--max-loaded-loras", "2", "--max-lora-rank", "8",
		"--sampling-defaults", "openai", "--dtype", "float32", "--context-length", "1024",
		"--max-total-tokens", "20000"}

	return &realEngine{
		keep: 2,
		args: append(append(args, "--lora-target-modules"), modules...),
		env:  []string{"CUDA_VISIBLE_DEVICES="},
	}
}

// start starts the engine and waits until it answers.
func (e *realEngine) start() {
	e.t.Helper()
	log, err := os.Create(filepath.Join(e.t.TempDir(), "engine.log"))
	if err != nil {
		e.t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(e.addr)
	e.cmd = exec.Command(e.args[0], slices.Concat(e.args[1:], []string{"--host", host, "--port", port})...)
	e.cmd.Env = append(append(os.Environ(), e.env...), "HF_HUB_OFFLINE=1")
	e.cmd.Stdout, e.cmd.Stderr = log, log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.done = make(chan struct{})
	go func() {
		defer close(e.done)
		_ = e.cmd.Wait()
	}()
	e.t.Cleanup(func() {
		if raw, err := os.ReadFile(log.Name()); err == nil && e.t.Failed() {
			e.t.Logf("%s", raw[max(0, len(raw)-6000):])
		}
	})
	e.t.Cleanup(e.kill)

	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Second) {
		if r, err := http.Get("http://" + e.addr + "/health"); err == nil {
			_ = r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-e.done:
			e.t.Fatal("the engine has ended, want an answer")
		default:
		}
		if time.Now().After(end) {
			e.t.Fatal("the engine has not answered for five minutes, want an answer")
		}
	}
}

// kill kills the engine and its children at once.
func (e *realEngine) kill() {
	_ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL)
	<-e.done
}

// newStage starts the engine and returns a stage with a gateway in front of it.
func (e *realEngine) newStage(t testing.TB, o Options) *stage {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e.t, e.addr = t, l.Addr().String()
	_ = l.Close()
	e.start()
	o.Server, o.Keep = "http://"+e.addr, e.keep
	o.Log = func(f string, a ...any) { t.Logf("gateway: "+f, a...) }
	s := &stage{t: t, bucket: o.Bucket.(*store.Memory), opts: o}
	s.restart()
	s.gate.patience, s.gate.loading = time.Minute, 2*time.Minute
	go s.gate.Run(t.Context())

	return s
}
