package display

import (
	"github.com/backsight/backsight/internal/typeset"
	"strconv"
)

// Block is a function in an icicle chart: what it calls hangs below, each as wide as its share of all that does.
type Block struct {
	// Name stands in the block, About is what a pointer that rests there is told.
	Name, About string
	// Size is what decides the width, Own the color: what the function takes by itself.
	Size, Own int64
	// Doubtful: something is not known of the function.
	Doubtful bool
	Below    []Block
}

// AppendIcicle appends blocks as a web page with a chart, which needs nothing else; facts stand above. It is the chart of
// Stacks.AppendFlame, of sizes instead of counts.
func AppendIcicle(dst []byte, title string, facts []string, roots []Block) []byte {
	dst = appendFlameHead(dst, title, facts...)
	all := Block{Name: "all", Below: roots}
	return appendFlameTail(all.append(dst, 1, 0))
}

// append appends a block which is that part of the one above. Browsers nest some 500 elements.
func (b *Block) append(dst []byte, part float64, depth int) []byte {
	class := "c" + strconv.Itoa(b.color())
	if b.Doubtful {
		class = "guess"
	}
	dst = typeset.AppendMarkup(dst, `<div class="n" style="width:{}%" data-n="0"><button class="{}" title="{}">{}</button>`,
		strconv.FormatFloat(100*part, 'f', 2, 64), class, b.About, b.Name)
	if depth < maxFlameDepth && len(b.Below) > 0 {
		sum := int64(0)
		for i := range b.Below {
			sum += max(b.Below[i].Size, 1)
		}
		dst = append(dst, "<div>"...)
		for i := range b.Below {
			dst = b.Below[i].append(dst, float64(max(b.Below[i].Size, 1))/float64(sum), depth+1)
		}
		dst = append(dst, "</div>"...)
	}
	return append(dst, "</div>\n"...)
}

// color is that of a size: each is four times the one before.
func (b *Block) color() (n int) {
	for size := int64(64); b.Own >= size && n < flameColors-1; size *= 4 {
		n++
	}
	return n
}
