package domain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ControlTokens are examples of the control tokens of each family of language models: they begin and end turns, stand
// for images and tools, or pad. BreakTokens breaks all of them.
var ControlTokens = []string{
	"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|vision_start|>", "<|image_pad|>", "<|video_pad|>", // Qwen
	"<tool_call>", "</tool_call>", "<tool_response>", "<think>", "</think>", // Qwen
	"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>", // Llama 3
	"<|python_tag|>", "<|header_start|>", "<|eot|>", "<|reserved_special_token_7|>", // Llama 3 and 4
	"<s>", "</s>", "<unk>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", // Llama 2, Mistral
	"[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[IMG]", "[IMG_BREAK]", // Mistral
	"<bos>", "<eos>", "<pad>", "<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<unused7>", // Gemma
	"<|turn>", "<turn|>", "<|channel>", // Gemma 4
	"<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", // DeepSeek
	"<|system|>", "<|user|>", "<|assistant|>", "<|end|>", "<|image_1|>", // Phi, GLM
	"<|start|>", "<|channel|>", "<|message|>", "<|return|>", "<|call|>", // gpt-oss
	"<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<BOS_TOKEN>", // Command
	"[gMASK]", "[sMASK]", "<sop>", "<eop>", "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "[BOS]", "[EOS]", // GLM, BERT
	"[|system|]", "[|endofturn|]", "<seed:bos>", "<SPECIAL_12>", "<extra_id_0>", // EXAONE, Seed, Nemotron, T5
	"]~b]", "]~!b[", "[e~[", // MiniMax
	"<image>", "<video>", "<audio>", "<end_of_utterance>", "<fake_token_around_image>", // placeholders
}

// BreakTokens puts a blank into everything that a tokenizer may take for a control token, so that text of a page, a
// person, a server or a model can end no turn and stand for no image. It is meant for the whole text of a message, also
// of one to be trained on, and changes nothing the second time.
//
// It goes by form, as no list of tokens is complete: a bar after < or [, a word of wordTokens between brackets, or a
// name there with a digit, an underscore or the like. Wide forms of characters and those that cannot be seen count,
// since a tokenizer may normalise them.
func BreakTokens(text string) string {
	if !strings.ContainsAny(text, openers) {
		return text
	}

	var out strings.Builder
	written := 0
	for i, letter := range text {
		if !strings.ContainsRune(openers, letter) {
			continue
		}
		if after := i + utf8.RuneLen(letter); opensToken(narrow(letter), text[after:]) {
			out.WriteString(text[written:after] + " ")
			written = after
		}
	}

	return out.String() + text[written:]
}

// openers are the characters at which tokens are broken: < and [ open most tokens, ] and ~ occur in MiniMax's.
const openers = "<＜﹤[［﹇]］~～"

// maxToken limits the characters of a control token that is recognised by its name. Real ones have at most 50.
const maxToken = 100

// wordTokens are the names of control tokens that look like ordinary words.
var wordTokens = map[string]bool{}

func init() {
	for name := range strings.FieldsSeq(`s bos eos pad unk mask cls sep sys inst img image images video audio think
		thinking tool tools user assistant system sop eop end start eot eod turn prefix suffix middle args gmask
		smask`) {
		wordTokens[name] = true
	}
}

// opensToken reports whether an opener and the text after it may be the beginning of a control token.
func opensToken(opener rune, rest string) bool {
	var name strings.Builder
	n := 0
	for _, letter := range rest {
		if unicode.Is(unicode.Cf, letter) {
			continue
		}

		letter = narrow(letter)
		if name.Len() == 0 && (opener == ']' && letter == '~' || opener == '~' && letter == '[') {
			return true
		}
		if opener != '<' && opener != '[' {
			return false
		}
		switch {
		case name.Len() == 0 && letter == '|':
			return true
		case opener == '<' && letter == '>', opener == '[' && letter == ']':
			return namesToken(opener, name.String())
		case unicode.IsSpace(letter), n == maxToken:
			return false
		}
		name.WriteRune(letter)
		n++
	}

	return false
}

// namesToken reports whether a control token may have this name between brackets. Names in square brackets are in
// capitals, as [INST] is, since pages show others there.
func namesToken(opener rune, name string) bool {
	name = strings.Trim(name, "/<")
	if opener == '[' && strings.TrimLeft(name, "gs") != strings.ToUpper(strings.TrimLeft(name, "gs")) {
		return false
	}
	if wordTokens[strings.ToLower(name)] {
		return true
	}

	odd := false
	for _, letter := range name {
		switch {
		case letter == '_' || letter == '▁' || letter == ':' || letter == '|',
			opener == '<' && (letter == '-' || unicode.IsDigit(letter)):
			odd = true
		case letter == '@' && opener == '[':
			odd = true
		case !unicode.IsLetter(letter) && !unicode.IsDigit(letter):
			return false
		}
	}

	return odd
}

// narrow returns the ASCII form of a wide character or of one for vertical text, as Unicode's form NFKC has it.
func narrow(letter rune) rune {
	switch {
	case letter >= '！' && letter <= '～':
		return letter - '！' + '!'
	case letter == '﹤':
		return '<'
	case letter == '﹥':
		return '>'
	case letter == '﹇':
		return '['
	case letter == '﹈':
		return ']'
	case letter == '︱' || letter == '︳':
		return '|'
	}

	return letter
}
