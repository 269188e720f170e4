package view_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/store"
)

// TestTextsOfAllScriptsStayInTheirBoxes draws screens with long texts of several scripts.
func TestTextsOfAllScriptsStayInTheirBoxes(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	slots, _, err := run.Slots(1).Must(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{
		"Chinese": strings.Repeat("请在这里输入您的电子邮件地址", 3), "Arabic": strings.Repeat("أدخل عنوان بريدك الإلكتروني ", 4),
		"Hebrew": "שלום עולם", "wide letters": strings.Repeat("WM@", 30), "narrow letters": strings.Repeat("il.", 60),
		"mixed": "3. مرحبا hello 中文 " + strings.Repeat("mixed ", 20), "signs": strings.Repeat("😀👩‍👩‍👧", 20),
		"short": "OK",
	}
	o := domain.Observation{Width: 360, Height: 640}
	for name, text := range texts {
		i := len(o.Elements)
		o.Elements = append(o.Elements, domain.Element{
			Index: i, ID: name, Role: "button", Text: text, Visible: true, Bounds: domain.Rect{20, 20 + 40*i, 160, 30},
		})
	}
	step := hostileStep()
	step.Observation, step.Goal = o, texts["Arabic"]
	play(t, &b, run, slots.Slots[4], 1, step)

	x := newTab(t)
	x.open(writeReport(t, &b, "crafted"), "document.querySelector('h1')")
	x.page("#/episode/crafted/1/5", "Decision in step 1")
	for _, v := range x.eval(`[...document.querySelectorAll('.look .box')].map((g) => {
		const box = g.querySelector('rect').getBBox(), text = g.querySelector('.words');
		const inside = text.getBBox(), name = g.querySelector('.index').textContent.trim();
		return { name, text: text.textContent.trim(), left: inside.x, right: inside.x + inside.width, room: box.width,
			clipped: getComputedStyle(text.parentElement).overflowX, rtl: text.getAttribute('direction') };
	})`).([]any) {
		name, text := at(t, v, "name").(string), at(t, v, "text").(string)
		left, right, room := at(t, v, "left").(float64), at(t, v, "right").(float64), at(t, v, "room").(float64)
		if left < 0 || right > room {
			t.Errorf("%s: %q goes from %.1f to %.1f, want it within 0 and %.1f", name, text, left, right, room)
		}
		if at(t, v, "clipped") != "hidden" {
			t.Errorf("%s: overflow is %v, want it hidden", name, at(t, v, "clipped"))
		}
		whole := texts[name]
		if short := name == "short" || name == "Hebrew"; short != (text == whole) || text == "" {
			t.Errorf("%s: the box says %q, want %q, and of long texts the beginning", name, text, whole)
		}
		want := "ltr"
		if name == "Arabic" || name == "Hebrew" || name == "mixed" {
			want = "rtl"
		}
		if got := at(t, v, "rtl"); got != want {
			t.Errorf("%s: the direction is %v, want %s", name, got, want)
		}
		if long := name == "Arabic" || name == "Chinese"; long && right-left < 0.6*room {
			t.Errorf("%s: the text is %.1f wide of %.1f, want it to fill the room", name, right-left, room)
		}
	}
	x.quiet()
}
