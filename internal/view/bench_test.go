package view_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/store"
)

var (
	large   = flag.String("report", "", "index.html of a report, for BenchmarkReport (default: one of a fixture)")
	largest = flag.String("run", "many", "run of the report")
)

// episodes is the number of those of the report that BenchmarkReport makes: as many as an epoch can have.
const episodes = 9_999

// BenchmarkReport opens a report that exists or is made here: its overview, the list of a run's episodes, and episodes
// far apart, none of which was opened before.
func BenchmarkReport(b *testing.B) {
	var made time.Duration
	if *large == "" {
		var bucket store.Memory
		many(b, &bucket, episodes)
		start := time.Now()
		*large = strings.TrimPrefix(writeReport(b, &bucket, false, "many"), "file://")
		made = time.Since(start)
	}
	path, err := filepath.Abs(*large)
	if err != nil {
		b.Fatal(err)
	}
	url := "file://" + path
	run := "#/run/" + *largest
	for b.Loop() {
		x := newTab(b)
		open(b, x, url, "document.querySelector('h1')", "overview")
		open(b, x, url+run+"/episodes", "document.querySelector('.line.place')", "list")

		var slowest time.Duration
		n := int(x.eval("Number(document.querySelector('.lines').getAttribute('aria-rowcount')) - 1").(float64))
		for i := range 50 {
			x.eval(fmt.Sprintf("document.querySelector('.lines').scrollTop = %d", 30*(i*n/50)))
			line := fmt.Sprintf("document.querySelector('[aria-rowindex=\"%d\"] a')", i*n/50+2)
			x.wait(line)
			ms := x.eval("(async () => { const start = performance.now(); " + line + ".click();" +
				"while (!document.querySelector('.panes')) await new Promise((r) => requestAnimationFrame(r));" +
				"return performance.now() - start })()").(float64)
			slowest = max(slowest, time.Duration(ms*float64(time.Millisecond)))
			x.eval("history.back()")
			x.wait("document.querySelector('.line.place')")
		}
		b.ReportMetric(float64(slowest.Milliseconds()), "slowest-episode-ms")
		b.ReportMetric(float64(n), "episodes")
		b.ReportMetric(made.Seconds(), "report-s")
		reportMemory(b)
	}
}

// open opens an address and reports the time until an expression is true.
func open(b *testing.B, x *tab, url, ready, name string) {
	b.Helper()
	x.open("about:blank", "true")
	start := time.Now()
	x.open(url, ready)
	b.ReportMetric(float64(time.Since(start).Milliseconds()), name+"-ms")
}

// reportMemory reports the megabytes of the processes that draw pages, and of all processes of browsers that this one
// started. What processes share is divided among them.
func reportMemory(b *testing.B) {
	b.Helper()
	parents, kilobytes, pages := map[int]int{}, map[int]float64{}, map[int]bool{}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		b.Fatal(err)
	}
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		stat, gone := os.ReadFile(dir + "/stat")
		args, gone2 := os.ReadFile(dir + "/cmdline")
		rollup, gone3 := os.ReadFile(dir + "/smaps_rollup")
		if gone != nil || gone2 != nil || gone3 != nil {
			continue
		}
		parents[pid], _ = strconv.Atoi(strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))[1])
		pages[pid] = bytes.Contains(args, []byte("--type=renderer"))
		if m := pss.FindSubmatch(rollup); m != nil {
			kilobytes[pid], _ = strconv.ParseFloat(string(m[1]), 64)
		}
	}
	page, all := 0.0, 0.0
	for pid, kb := range kilobytes {
		for p := parents[pid]; p > 1; p = parents[p] {
			if p == os.Getpid() {
				if all += kb; pages[pid] {
					page += kb
				}

				break
			}
		}
	}
	b.ReportMetric(page/1024, "page-MB")
	b.ReportMetric(all/1024, "browser-MB")
}

// pss is the proportional set size of a process.
var pss = regexp.MustCompile(`(?m)^Pss:\s+(\d+) kB$`)
