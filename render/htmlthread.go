package render

import "strconv"

// appendDetails begins a part of the page that unfolds, at once where open.
func appendDetails(dst []byte, class string, open bool) []byte {
	dst = appendMarkup(dst, `<details class="{}"`, class)
	if open {
		dst = appendMarkup(dst, " open")
	}
	return appendMarkup(dst, ">")
}

func appendThread(dst []byte, v *threadView) []byte {
	dst = appendDetails(dst, "card thread", v.Open)
	dst = appendMarkup(dst, "<summary><h2>{}", v.Title)
	if v.Crashed {
		dst = appendMarkup(dst, " <em>crashed</em>")
	}
	dst = appendMarkup(dst, "</h2> <small>{}</small></summary>\n"+`<div class="columns"><div class="frames">`+"\n", v.Summary)
	for i := range v.Frames {
		if v.Kernel > 0 && i == v.Kernel {
			dst = appendMarkup(dst, `<p class="stop">{}</p>`+"\n", entered)
		}
		dst = appendFrame(dst, &v.Frames[i])
		if again := v.Again[i]; again != "" {
			dst = appendMarkup(dst, `<p class="stop">{}</p>`+"\n", again)
		}
	}
	dst = appendMarkup(dst, `<p class="stop">stop: {}</p>`+"\n", v.Stop)
	if len(v.Registers) > 0 {
		dst = appendMarkup(dst, `<details class="registers"><summary>registers</summary><div class="grid">`)
		for _, r := range v.Registers {
			dst = appendMarkup(dst, "<span>{}</span><code>{}</code>", r.Name, r.Value)
		}
		dst = appendMarkup(dst, "</div></details>")
	}
	dst = appendStack(appendMarkup(dst, "\n</div>"), v)
	return appendMarkup(dst, "</div></details>\n")
}

func appendFrame(dst []byte, v *frameView) []byte {
	dst = appendMarkup(dst, `<details class="frame {}" data-frame="{}"><summary title="{}, {}: {}"><span class="n">{}</span><span class="name"`,
		v.Trust, strconv.Itoa(v.Number), v.Method, v.Trust, v.Checks, strconv.Itoa(v.Number))
	if v.Function != "" {
		dst = appendMarkup(dst, ` title="{}"`, v.Function)
	}
	dst = appendMarkup(dst, ">{}", v.Name)
	for _, in := range v.Inlines {
		dst = appendMarkup(dst, ` <i title="{}">← {}</i>`, in.Place, in.Name)
	}
	if v.TailCaller != "" {
		dst = appendMarkup(dst, ` <i title="{}, which left the stack by a jump">tail call</i>`, v.TailCaller)
	}
	dst = appendMarkup(dst, `</span><span class="place">{}</span><span class="trust">{}</span></summary>`+"\n", v.Place, v.Tag)
	dst = appendMarkup(dst, `<dl><dt>address<dd class="hex">{}`, v.PC)
	if v.Function != "" {
		dst = appendMarkup(dst, "<dt>function<dd>{}", v.Function)
	}
	if v.TailCaller != "" {
		dst = appendMarkup(dst, "<dt>tail-called by<dd>{}", v.TailCaller)
	}
	if v.CFA != "" {
		dst = appendMarkup(dst, `<dt>CFA<dd class="hex">{}`, v.CFA)
	}
	if v.Module != "" {
		dst = appendMarkup(dst, "<dt>module<dd>{}", v.Module)
	}
	dst = appendMarkup(dst, "<dt>found by<dd>{}, {}<dt>because<dd>{}</dl>\n", v.Method, v.Trust, v.Checks)
	if len(v.Variables) > 0 {
		dst = appendMarkup(dst, `<dl class="variables">`)
		for _, x := range v.Variables {
			dst = appendMarkup(dst, "<dt>{}<dd><code>{}</code> <small>{}</small>", x.Name, x.Value, x.Type)
		}
		dst = appendMarkup(dst, "</dl>\n")
	}
	if len(v.Excerpt) > 0 {
		dst = appendMarkup(dst, `<pre class="excerpt">`)
		for _, line := range v.Excerpt {
			dst = appendMarkup(appendMarked(dst, "span", "here", line.Here), "{}\n</span>", line.Text)
		}
		dst = appendMarkup(dst, "</pre>\n")
	}
	if len(v.Tried) > 0 {
		dst = appendMarkup(dst, `<details class="tried"><summary>what was tried</summary><ul>`)
		for _, a := range v.Tried {
			dst = appendMarkup(appendMarked(dst, "li", "taken", a.Taken), "<b>{}</b> {}", a.Method, a.Text)
		}
		dst = appendMarkup(dst, "</ul></details>")
	}
	return appendMarkup(dst, "</details>\n")
}

// appendMarked begins an element, of a class where marked.
func appendMarked(dst []byte, element, class markup, marked bool) []byte {
	dst = appendMarkup(dst, "<"+element)
	if marked {
		dst = appendMarkup(dst, ` class="`+class+`"`)
	}
	return appendMarkup(dst, ">")
}

// longAddress is more than 32 bits have digits, with their 0x.
const longAddress = 10

// appendStack appends the words of a thread's stack.
func appendStack(dst []byte, v *threadView) []byte {
	if len(v.Words) == 0 {
		return dst
	}
	dst = appendDetails(dst, "stack", v.Open)
	dst = appendMarkup(dst, "<summary>stack <small>{}</small></summary>\n", v.Stack)
	dst = appendMarkup(dst, `<p class="legend"><span class="return">return address</span> <span class="saved">saved register</span> `+
		`<span class="overwritten">overwritten</span> <span class="code">code</span> <span class="module">data of a binary</span> `+
		`<span class="stackp">this stack</span> <span class="memory">other memory</span> <span class="text">text</span></p>`+"\n")
	dst = appendMarked(dst, "table", "long", len(v.Words[0].Addr) > longAddress)
	dst = appendMarkup(dst, "<tbody>")
	for i := range v.Words {
		w := &v.Words[i]
		dst = appendMarkup(dst, "<tr")
		if w.Kind != "" {
			dst = appendMarkup(dst, ` class="{}"`, w.Kind)
		}
		dst = appendMarkup(dst, ` data-frame="{}"><td class="f">{}<td class="hex">{}<td class="hex">{}<td>{}`+"\n",
			strconv.Itoa(w.Frame), w.Label, w.Addr, w.Value, w.Note)
	}
	return appendMarkup(dst, "</tbody></table></details>")
}
