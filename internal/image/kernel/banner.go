package kernel

import (
	"bytes"
	"strings"

	"github.com/backsight/backsight/image"
)

// maxBanner bounds the text of linux_banner.
const maxBanner = 512

// Banner is the text with which a kernel begins its log, and by which a kernel is known:
//
//	Linux version 6.1.0-50-arm64 (debian-kernel@lists.debian.org) (gcc-12 …) #1 SMP Debian 6.1.176-1
//
// It is "" for an image that has none. Format strings that begin alike are none.
func Banner(img *image.Image) string {
	type key struct{}
	return img.Memo(key{}, func() any {
		for i := range img.Segments {
			if b := FindBanner(img.Segments[i].Data); b != "" {
				return b
			}
		}
		return ""
	}).(string)
}

// FindBanner is the first banner in a kernel's bytes, "" where there is none. One without the
// number of the build counts only where there is no other: since Linux 6.1 a weak linux_banner
// with "# SMP" stands beside the one that the last step of the build makes (init/version.c).
func FindBanner(data []byte) (found string) {
	for {
		i := bytes.Index(data, banner)
		if i < 0 {
			return found
		}
		text := data[i:]
		text = text[:min(len(text), maxBanner)]
		if n := bytes.IndexAny(text, "\n\x00"); n > 0 {
			text = text[:n]
		}
		if data = data[i+len(banner):]; len(data) == 0 || data[0] < '0' || data[0] > '9' {
			continue
		}
		if !bytes.Contains(text, []byte(" # ")) {
			return string(text)
		}
		if found == "" {
			found = string(text)
		}
	}
}

// Release is the release that a banner states: what uname -r prints.
func Release(banner string) string {
	text, ok := strings.CutPrefix(banner, "Linux version ")
	if !ok {
		return ""
	}
	release, _, _ := strings.Cut(text, " ")
	return release
}
