package llamafactory

import (
	"os/exec"
	"testing"

	"github.com/collabui/collabui/fault"
)

func TestEndsAreToldApart(t *testing.T) {
	run := func(script string) error { return exec.Command("sh", "-c", script).Run() }
	killed, failed := run("kill -9 $$"), run("exit 1")

	for _, c := range []struct {
		name, tail string
		exit       error
		want       fault.Kind
	}{
		{name: "no results", want: fault.Transient},
		{name: "killed", exit: killed, want: fault.Transient},
		{
			name: "killed after a warning",
			tail: "UserWarning: ImportError while trying something",
			exit: killed,
			want: fault.Transient,
		},
		{
			name: "out of memory",
			tail: "torch.OutOfMemoryError: CUDA out of memory.",
			exit: failed,
			want: fault.Invalid,
		},
		{
			name: "full disk",
			tail: "safetensors_rust.SafetensorError: I/O error: No space left on device (os error 28)",
			exit: failed,
			want: fault.Transient,
		},
		{
			name: "a bad GPU",
			tail: "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
			exit: failed,
			want: fault.Transient,
		},
		{
			name: "torn weights",
			tail: "safetensors_rust.SafetensorError: Error while deserializing header",
			exit: failed,
			want: fault.Invalid,
		},
		{
			name: "rank killed, by signal",
			tail: "traceback : Signal 9 (SIGKILL) received by PID 77",
			exit: failed,
			want: fault.Transient,
		},
		{
			name: "rank killed, by exit code",
			tail: "exitcode  : -9 (pid: 77)",
			exit: failed,
			want: fault.Transient,
		},
		{
			name: "unknown error with a warning of NCCL",
			tail: "ValueError: something\n" +
				"[rank0]: ProcessGroupNCCL.cpp:1250] Warning: destroy_process_group() was not called",
			exit: failed,
			want: fault.Invalid,
		},
		{
			name: "lost connection",
			tail: "torch.distributed.DistBackendError: NCCL error in: x.cpp",
			exit: failed,
			want: fault.Transient,
		},
		{
			name: "missing package",
			tail: "ModuleNotFoundError: No module named 'peft'",
			exit: failed,
			want: fault.Invalid,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := (&Tool{}).Explain(c.tail, c.exit)
			if got := fault.KindOf(err); got != c.want {
				t.Errorf("Explain(%q, %v) is %s, want %s: %v", c.tail, c.exit, got, c.want, err)
			}
		})
	}
}
