package view_test

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"github.com/collabui/collabui/internal/method/stats"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// unreadable is a script that returns texts whose contrast with their background is below WCAG's level AA.
const unreadable = `(() => {
	const rgba = (c) => { const n = c.match(/[\d.]+/g).map(Number); return [...n, 1].slice(0, 4); };
	const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
		.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
		.reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0);
	const back = (e) => { for (; e; e = e.parentElement) {
		const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] > 0.9) return c; } return [255, 255, 255]; };
	return [...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.closest('svg, :disabled') &&
		[...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())).map((e) => {
		const [a, b] = [light(rgba(getComputedStyle(e).color)), light(back(e))].sort((x, y) => y - x);
		return [(a + 0.05) / (b + 0.05), e.outerHTML.slice(0, 100)];
	}).filter(([c]) => c < 4.5).map(([c, text]) => c.toFixed(1) + ' ' + text).slice(0, 3);
})()`

func TestEveryPageFitsIntoWindowsOfAllWidthsInBothThemes(t *testing.T) {
	b := everything(t)
	x := newTab(t)
	x.open(served(t, b), "document.querySelector('h1')")
	for hash, text := range everyPage {
		x.page(hash, text)
		x.wait("document.querySelector('h1') && !document.querySelector('.wait')")
		for _, width := range []int64{380, 900, 1800} {
			x.size(width, 900)
			if got := x.eval("document.documentElement.scrollWidth - innerWidth").(float64); got > 0 {
				t.Errorf("%s in %d pixels: got %v pixels more than the window has, want none", hash, width, got)
			}
		}
		for theme, want := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"} {
			x.eval(fmt.Sprintf("document.documentElement.dataset.theme = %q", theme))
			if got := x.eval("getComputedStyle(document.body).backgroundColor"); got != want {
				t.Errorf("%s, %s: the page is %v, want %s", hash, theme, got, want)
			}
			for _, bad := range x.eval(unreadable).([]any) {
				t.Errorf("%s, %s: contrast %v, want 4.5", hash, theme, bad)
			}
		}
	}
	x.quiet()
}

// kept makes a page keep the file that it would save.
const kept = `(() => {
	const make = URL.createObjectURL.bind(URL);
	URL.createObjectURL = (blob) => { window.body = blob; return make(blob); };
	HTMLAnchorElement.prototype.click = function () { window.file = this.download; };
})()`

// saved presses a button and returns the file that it saves.
func saved(t *testing.T, x *tab, button string) (name string, body []byte) {
	t.Helper()
	x.eval("window.file = '', (" + button + ").click()")
	x.wait("window.file")
	text := x.eval(`new Promise((done) => { const r = new FileReader(); r.onload = () => done(r.result);
		r.readAsDataURL(window.body); })`).(string)
	_, text, _ = strings.Cut(text, ",")
	body, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}

	return x.eval("window.file").(string), body
}

// TestABrowserSavesFigures presses a button of a report as people do, and looks for the file.
func TestABrowserSavesFigures(t *testing.T) {
	var b store.Memory
	x := newTab(t)
	dir := t.TempDir()
	x.open(writeReport(t, &b, string(crafted(t, &b))), "document.querySelector('h1')")
	_, err := chromedp.CallBrowser(x.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir,
		BrowserContextID: chromedp.FromContext(x.ctx).BrowserContextID,
	})
	if err != nil {
		t.Fatal(err)
	}
	x.page("#/run/crafted", "Success by epoch")
	x.eval("document.querySelector('.chart .save button').click()")
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		body, _ := os.ReadFile(filepath.Join(dir, "crafted-success.svg"))
		if len(body) > 0 && wellFormed("crafted-success.svg", body) == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after 20 s got %q, want the picture", body)
		}
	}
	x.quiet()
}

// wellFormed returns an error that describes what is wrong with a saved file.
func wellFormed(name string, body []byte) error {
	switch filepath.Ext(name) {
	case ".svg":
		for d := xml.NewDecoder(bytes.NewReader(body)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return err
			}
		}
		if !bytes.HasPrefix(body, []byte("<svg")) || bytes.Contains(body, []byte("class=")) {
			return errors.New("it needs a style sheet")
		}
	case ".png":
		p, err := png.Decode(bytes.NewReader(body))
		if err != nil {
			return err
		}
		if colours(p) < 2 || p.Bounds().Dx() < 600 {
			return fmt.Errorf("it has %v and %d colours", p.Bounds(), colours(p))
		}
	case ".csv":
		rows, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
		if err != nil || len(rows) < 2 {
			return fmt.Errorf("%d rows: %w", len(rows), err)
		}
		for _, cell := range slices.Concat(rows...) {
			if strings.IndexAny(cell, "=+-@") == 0 && strings.Trim(cell, "+-0123456789.,;()% −–") != "" {
				return fmt.Errorf("a spreadsheet takes %q for a formula", cell)
			}
		}
	case ".json":
		var v any
		if err := json.Unmarshal(body, &v); err != nil || fmt.Sprint(v) == "[]" || fmt.Sprint(v) == "map[]" {
			return fmt.Errorf("%v: %w", v, err)
		}
	default:
		return errors.New("unknown kind")
	}

	return nil
}

func colours(p image.Image) int {
	all := map[any]bool{}
	for y := range p.Bounds().Dy() {
		for x := range p.Bounds().Dx() {
			all[p.At(x, y)] = true
		}
	}

	return len(all)
}

func TestEveryFigureCanBeSaved(t *testing.T) {
	b := everything(t)
	x := newTab(t)
	x.open(served(t, b), "document.querySelector('h1')")
	x.eval(kept)
	const all = "document.querySelectorAll('.save button')"
	kinds := map[string]int{}
	for hash, c := range map[string]struct {
		text string
		want int // number of buttons
	}{
		"#/run/small":               {"Tokens by role", 8*3 + 2 + 2*2 + 3*2 + 2 + 3*3},
		"#/run/small/episodes":      {"20 of 20 episodes", 2},
		"#/run/crafted/episodes":    {"episodes, ", 2}, // goals begin with =
		"#/run/small/updates":       {"log π(chosen)", 2 + 2 + 4*3},
		"#/run/small/data":          {"style AUC", 4},
		"#/run/small/specification": {"System message", 1},
		"#/experiment/table":        {"declared", 2 + 2 + 2 + 2 + 3},
		"#/episode/crafted/1/1":     {"Decision in step 1", 4},
		"#/episode/crafted/1/5":     {"Decision in step 1", 4},
		"#/run/crafted/evaluations": {"base-2", 2},
	} {
		x.page(hash, c.text)
		x.wait("!document.querySelector('.wait')")
		n := int(x.eval(all + ".length").(float64))
		if n != c.want {
			t.Errorf("%s has %d buttons to save, want %d", hash, n, c.want)
		}
		for i := range n {
			name, body := saved(t, x, fmt.Sprintf("%s[%d]", all, i))
			if err := wellFormed(name, body); err != nil {
				t.Errorf("%s saves %s: %v, want a whole file: %.200s", hash, name, err, body)
			}
			kinds[filepath.Ext(name)]++
		}
	}
	if len(kinds) != 4 {
		t.Errorf("files of the kinds %v were saved, want four kinds", kinds)
	}
	x.page("#/episode/crafted/1/5", "Decision in step 1")
	_, body := saved(t, x, "document.querySelector('.look .save button')")
	if !bytes.Contains(body, []byte("href=\"data:image/png;base64,")) {
		t.Errorf("the saved screen is %.300s, want the screenshot in it", body)
	}
	x.quiet()
}

// named returns the names of the page's buttons for screen readers.
func named(t *testing.T, x *tab) (names []string) {
	t.Helper()
	root, err := chromedp.Call(x.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range root.Nodes {
		if n.Role != nil && string(n.Role.Value) == `"button"` && n.Name != nil {
			var s string
			if err := json.Unmarshal([]byte(n.Name.Value), &s); err != nil {
				t.Fatal(err)
			}
			names = append(names, s)
		}
	}

	return names
}

func TestAnswersAndAgentsAreButtonsWithWords(t *testing.T) {
	var b store.Memory
	run := string(crafted(t, &b))
	x := newTab(t)
	x.open(writeReport(t, &b, run), "document.querySelector('h1')")
	x.page("#/episode/crafted/1/1", "Decision in step 1")
	names := strings.Join(named(t, x), "\n")
	for _, want := range []string{
		"agent 0, round 1: right executed click", "agent 0, round 2: wrong differs from the round before click",
		"agent 1, round 1: right the judge says: wrong click", "agent 0, its last answer: wrong",
		"agent 1, its last answer: right",
	} {
		if !strings.Contains(names, want) {
			t.Errorf("the buttons are named\n%s\nwant %q among them", names, want)
		}
	}
	for _, key := range []string{"Enter", " "} {
		x.page("#/episode/crafted/1/1", "Choose an answer")
		x.eval("document.querySelectorAll('.graph .node')[1].focus()")
		x.key(key)
		x.wait("location.hash === '#/episode/crafted/1/1/1/1.1'")
		x.wait("document.querySelector('.node.chosen[aria-pressed=true]')")
	}
	x.quiet()
}

func TestCurvesHaveIntervals(t *testing.T) {
	b := everything(t)
	r, _ := testrun.Learned(t)
	x := newTab(t)
	x.open(served(t, b), "document.querySelector('h1')")
	points := func(hash, text string) string {
		x.page(hash, text)
		x.wait("!document.querySelector('.wait') && document.body.innerText.includes('Tokens by role')")

		return x.eval("[...document.querySelectorAll('.chart title')].map((e) => e.textContent).join('\\n')").(string)
	}
	interval := func(k, n int) string {
		low, high := stats.Wilson(k, n)

		return fmt.Sprintf("%.1f %% [%.1f %%, %.1f %%]", 100*float64(k)/float64(n), 100*low, 100*high)
	}
	page := document(t, library(b, 1), "run/small")
	val := at(t, page, "base_val")
	base := interval(int(at(t, val, "successes").(float64)), int(at(t, val, "episodes").(float64)))
	got := points("#/run/small", "small")
	for _, want := range []string{"val, epoch 0: " + base, "val, epoch 1: ", "agents, rollouts, epoch 2: "} {
		if !strings.Contains(got, want) {
			t.Errorf("the points of small are\n%s\nwant %q among them", got, want)
		}
	}
	low, high := 1e9, -1e9
	for agent := range r.Spec.Agents {
		kl := at(t, page, "epochs", 0, "updates", agent, "probe", "kl").(float64)
		low, high = min(low, kl), max(high, kl)
	}
	band := fmt.Sprintf("[%v, %v]", math.Round(low*1000)/1000, math.Round(high*1000)/1000)
	if !strings.Contains(got, band) {
		t.Errorf("the points of small are\n%s\nwant the band %s of KL in epoch 1", got, band)
	}
	got = points("#/run/crafted", "me"+hostile[1])
	if want := ", epoch 1: " + interval(3, 4); !strings.Contains(got, want) {
		t.Errorf("the points of crafted are\n%s\nwant the agreement %s", got, want)
	}
	x.quiet()
}
