package render

import (
	"github.com/backsight/backsight/internal/typeset"
	"strconv"
)

func appendThread(dst []byte, v *threadView) []byte {
	dst = typeset.AppendDetails(dst, "card thread", v.Open)
	dst = typeset.AppendMarkup(dst, "<summary><h2>{}", v.Title)
	if v.Crashed {
		dst = typeset.AppendMarkup(dst, " <em>crashed</em>")
	}
	dst = typeset.AppendMarkup(dst, "</h2> <small>{}</small></summary>\n"+`<div class="columns"><div class="frames">`+"\n", v.Summary)
	for i := range v.Frames {
		if v.Kernel > 0 && i == v.Kernel {
			dst = typeset.AppendMarkup(dst, `<p class="stop">{}</p>`+"\n", entered)
		}
		dst = appendFrame(dst, &v.Frames[i])
		if again := v.Again[i]; again != "" {
			dst = typeset.AppendMarkup(dst, `<p class="stop">{}</p>`+"\n", again)
		}
	}
	dst = typeset.AppendMarkup(dst, `<p class="stop">stop: {}</p>`+"\n", v.Stop)
	if len(v.Registers) > 0 {
		dst = typeset.AppendMarkup(dst, `<details class="registers"><summary>registers</summary><div class="grid">`)
		for _, r := range v.Registers {
			dst = typeset.AppendMarkup(dst, "<span>{}</span><code>{}</code>", r.Name, r.Value)
		}
		dst = typeset.AppendMarkup(dst, "</div></details>")
	}
	dst = appendStack(typeset.AppendMarkup(dst, "\n</div>"), v)
	return typeset.AppendMarkup(dst, "</div></details>\n")
}

func appendFrame(dst []byte, v *frameView) []byte {
	dst = typeset.AppendMarkup(dst, `<details class="frame {}" data-frame="{}"><summary title="{}, {}: {}"><span class="n">{}</span><span class="name"`,
		v.Trust, strconv.Itoa(v.Number), v.Method, v.Trust, v.Checks, strconv.Itoa(v.Number))
	if v.Function != "" {
		dst = typeset.AppendMarkup(dst, ` title="{}"`, v.Function)
	}
	dst = typeset.AppendMarkup(dst, ">{}", v.Name)
	for _, in := range v.Inlines {
		dst = typeset.AppendMarkup(dst, ` <i title="{}">← {}</i>`, in.Place, in.Name)
	}
	if v.TailCaller != "" {
		dst = typeset.AppendMarkup(dst, ` <i title="{}, which left the stack by a jump">tail call</i>`, v.TailCaller)
	}
	dst = typeset.AppendMarkup(dst, `</span><span class="place">{}</span><span class="trust">{}</span></summary>`+"\n", v.Place, v.Tag)
	dst = typeset.AppendMarkup(dst, `<dl><dt>address<dd class="hex">{}`, v.PC)
	if v.Function != "" {
		dst = typeset.AppendMarkup(dst, "<dt>function<dd>{}", v.Function)
	}
	if v.TailCaller != "" {
		dst = typeset.AppendMarkup(dst, "<dt>tail-called by<dd>{}", v.TailCaller)
	}
	if v.CFA != "" {
		dst = typeset.AppendMarkup(dst, `<dt>CFA<dd class="hex">{}`, v.CFA)
	}
	if v.Module != "" {
		dst = typeset.AppendMarkup(dst, "<dt>module<dd>{}", v.Module)
	}
	dst = typeset.AppendMarkup(dst, "<dt>found by<dd>{}, {}<dt>because<dd>{}</dl>\n", v.Method, v.Trust, v.Checks)
	if len(v.Variables) > 0 {
		dst = typeset.AppendMarkup(dst, `<dl class="variables">`)
		for _, x := range v.Variables {
			dst = typeset.AppendMarkup(dst, "<dt>{}<dd><code>{}</code> <small>{}</small>", x.Name, x.Value, x.Type)
		}
		dst = typeset.AppendMarkup(dst, "</dl>\n")
	}
	if len(v.Excerpt) > 0 {
		dst = typeset.AppendMarkup(dst, `<pre class="excerpt">`)
		for _, line := range v.Excerpt {
			dst = typeset.AppendMarkup(typeset.AppendMarked(dst, "span", "here", line.Here), "{}\n</span>", line.Text)
		}
		dst = typeset.AppendMarkup(dst, "</pre>\n")
	}
	if len(v.Tried) > 0 {
		dst = typeset.AppendMarkup(dst, `<details class="tried"><summary>what was tried</summary><ul>`)
		for _, a := range v.Tried {
			dst = typeset.AppendMarkup(typeset.AppendMarked(dst, "li", "taken", a.Taken), "<b>{}</b> {}", a.Method, a.Text)
		}
		dst = typeset.AppendMarkup(dst, "</ul></details>")
	}
	return typeset.AppendMarkup(dst, "</details>\n")
}

// longAddress is more than 32 bits have digits, with their 0x.
const longAddress = 10

// appendStack appends the words of a thread's stack.
func appendStack(dst []byte, v *threadView) []byte {
	if len(v.Words) == 0 {
		return dst
	}
	dst = typeset.AppendDetails(dst, "stack", v.Open)
	dst = typeset.AppendMarkup(dst, "<summary>stack <small>{}</small></summary>\n", v.Stack)
	dst = typeset.AppendMarkup(dst, `<p class="legend"><span class="return">return address</span> <span class="saved">saved register</span> `+
		`<span class="overwritten">overwritten</span> <span class="code">code</span> <span class="module">data of a binary</span> `+
		`<span class="stackp">this stack</span> <span class="memory">other memory</span> <span class="text">text</span></p>`+"\n")
	dst = typeset.AppendMarked(dst, "table", "long", len(v.Words[0].Addr) > longAddress)
	dst = typeset.AppendMarkup(dst, "<tbody>")
	for i := range v.Words {
		w := &v.Words[i]
		dst = typeset.AppendMarkup(dst, "<tr")
		if w.Kind != "" {
			dst = typeset.AppendMarkup(dst, ` class="{}"`, w.Kind)
		}
		dst = typeset.AppendMarkup(dst, ` data-frame="{}"><td class="f">{}<td class="hex">{}<td class="hex">{}<td>{}`+"\n",
			strconv.Itoa(w.Frame), w.Label, w.Addr, w.Value, w.Note)
	}
	return typeset.AppendMarkup(dst, "</tbody></table></details>")
}
