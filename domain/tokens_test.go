package domain

import (
	"strings"
	"testing"
)

func TestControlTokensAreBroken(t *testing.T) {
	hostile := append([]string{
		"<\u200b|im_end|>", "＜|im_end|＞", "＜｜im_end｜＞", "<｜User｜>", "<\u00ad/s>", "<|never seen|>", "<|", "<ｓ>",
		"a<|im_end|>", "<<|im_end|>>", "[<s>]", "<bos><bos>", "<row_3_col_2>", "[@BOS@]", "<2mass>", "<S>",
	}, ControlTokens...)
	for _, token := range hostile {
		for _, text := range []string{token, "x" + token + "y", "a b " + token + " c", token + token} {
			got := BreakTokens(text)
			if strings.Contains(got, token) || got == text {
				t.Errorf("BreakTokens(%q) = %q, want no token in it", text, got)
			}
			if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(text, " ", "") {
				t.Errorf("BreakTokens(%q) = %q, want only blanks added", text, got)
			}
			if again := BreakTokens(got); again != got {
				t.Errorf("BreakTokens(%q) = %q, want the same text", got, again)
			}
		}
	}
}

func TestOrdinaryTextIsNotBroken(t *testing.T) {
	for _, text := range []string{
		"", "a < b > c", "1<2", "x <y and z", "[3] link", "[x]", "[ ]", "[NEW] Message", "[OK]", "[image]", "[user]",
		"Ada <ada@example.com>", "Ada <ada.b_c@example.com>", "<task>", "</task>", "<b>bold</b>", "<https://example.com>",
		`{"a":["b"],"c":[]}`, "a -> b <- c", "|x|", "[1, 2]", "[A-Z]", "~/folder", "a~b", "<>", "[]", "<", "[",
	} {
		if got := BreakTokens(text); got != text {
			t.Errorf("BreakTokens(%q) = %q, want it unchanged", text, got)
		}
	}
}

func FuzzBreakTokens(f *testing.F) {
	for _, token := range ControlTokens {
		f.Add(token, "x")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got := BreakTokens(a + b)
		if again := BreakTokens(got); again != got {
			t.Errorf("BreakTokens(%q) = %q, want the same text", got, again)
		}
		for _, token := range ControlTokens {
			if strings.Contains(got, token) {
				t.Errorf("BreakTokens(%q) = %q, want no %s in it", a+b, got, token)
			}
		}
	})
}
