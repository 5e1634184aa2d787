package console

import (
	"bytes"
	"context"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// decoded is text in UTF-16, as terminals and shells of Windows write it, in UTF-8; other text stays as it is. Without a
// byte order mark the zeros of the first letters tell.
func decoded(ctx context.Context, text []byte) []byte {
	order := orderOf(text[:min(len(text), maxOrder)])
	if order == nil {
		return text
	}
	out := make([]byte, 0, len(text)/2)
	for at := 0; at+1 < len(text); at += 2 {
		if at%(1<<20) == 0 && ctx.Err() != nil {
			break
		}
		r := rune(order.Uint16(text[at:]))
		if utf16.IsSurrogate(r) && at+3 < len(text) {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(text[at+2:]))); pair != utf8.RuneError {
				r, at = pair, at+2
			}
		}
		if r != 0xfeff {
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// maxOrder is how many bytes are looked at to tell UTF-16.
const maxOrder = 64

// orderOf is the byte order of text in UTF-16, nil for other text: letters of ASCII have a zero each, at even or at odd places.
// Behind a byte order mark, which noise on a line may look like, fewer of the letters need be of ASCII.
func orderOf(head []byte) binary.ByteOrder {
	var zeros [2]int // at even and at odd places
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	const least = 8
	little, big := bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff"))
	enough := len(head) / 2 * 3 / 4
	if little || big {
		enough = max(1, len(head)/2/4)
	}
	switch {
	case len(head) < 2*least && !little && !big:
		return nil
	case zeros[1] >= enough && zeros[0] == 0 && !big:
		return binary.LittleEndian
	case zeros[0] >= enough && zeros[1] == 0 && !little:
		return binary.BigEndian
	}
	return nil
}

// withoutFill is bytes without runs of those that memory is filled with, where it has no text: NUL, and 0xff of erased flash.
func withoutFill(head []byte) []byte {
	const least = 8
	out := make([]byte, 0, len(head))
	for at := 0; at < len(head); {
		n := 1
		for at+n < len(head) && head[at+n] == head[at] {
			n++
		}
		if b := head[at]; n < least || b != 0 && b != 0xff {
			out = append(out, head[at:at+n]...)
		}
		at += n
	}
	return out
}
