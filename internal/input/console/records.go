package console

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/backsight/backsight/input"
)

// Records is Format for logs that keep each line in a record, beside what else is known of the line:
//
//	{"__REALTIME_TIMESTAMP":"1795…","MESSAGE":"Call Trace:"}    journalctl -o json; likewise Docker, log servers
//	"msg": "Call Trace:"                                        dmesg --json, which takes a line for each member
//	MESSAGE=Call Trace:                                         journalctl -o export and -o verbose
//	time,host,message                                           CSV whose first line names the columns
func Records(readers ...Reader) input.Format {
	return input.Format{
		Name:  "records",
		Sniff: func(head []byte) bool { return recordsIn(decoded(context.Background(), head)) != nil },
		Open: func(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
			return open(ctx, c, env, recordsIn(decoded(ctx, c.Head)), readers)
		},
	}
}

// messageKeys are what fields are called that have a line of a log, the surest first: of the journal, of most log
// servers, of dmesg and logging libraries, of Docker, of Loki, CloudWatch, Google's, Splunk, GELF.
var messageKeys = []string{"MESSAGE", "message", "msg", "log", "line", "@message", "textPayload", "_raw", "short_message"}

// recordsIn tells by the beginning of a log how to take the messages out of its records; nil where it has none.
func recordsIn(head []byte) (take func(data []byte) messages) {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if key := memberIn(head); key != "" {
		return func(data []byte) messages { return members(data, key) }
	}
	if bytes.HasPrefix(head, []byte("__CURSOR=")) || bytes.Contains(head, []byte("\n    MESSAGE=")) {
		return exportFields
	}
	if separator, column, ok := columnIn(head); ok {
		return func(data []byte) messages { return columns(data, separator, column) }
	}
	return nil
}

// snapshotKeys are members by which JSON is a snapshot (internal/input/snapshot).
var snapshotKeys = []string{"arch", "regs", "memory", "images", "threads"}

// memberIn is the name of the members that have the messages, where text is JSON: an object, objects, or an array of
// them, the first of them may be cut; "" elsewhere.
func memberIn(head []byte) string {
	if array, ok := bytes.CutPrefix(head, []byte("[")); ok {
		head = bytes.TrimLeft(array, " \t\r\n")
	}
	if len(head) == 0 {
		return ""
	}
	if line, rest, _ := bytes.Cut(head, []byte("\n")); head[0] != '{' && bytes.HasSuffix(line, []byte("\"}")) {
		head = rest
	}
	if !bytes.HasPrefix(head, []byte("{")) {
		return ""
	}
	best := len(messageKeys)
	eachMember(head, func(key string, value []byte) {
		if slices.Contains(snapshotKeys, key) {
			best = -1
		} else if i := slices.Index(messageKeys, key); i >= 0 && i < best && (value[0] == '"' || value[0] == '[') {
			best = i
		}
	})
	if best < 0 || best == len(messageKeys) {
		return ""
	}
	return messageKeys[best]
}

// members are the messages of JSON text: the values of the members of a name, in whatever object. What is no JSON
// between them, as the beginning of a log that was cut, is passed over.
func members(text []byte, name string) messages {
	m := make(messages, 0, len(text))
	eachMember(text, func(key string, value []byte) {
		if key != name {
			return
		}
		switch value[0] {
		case '"':
			var s string
			if json.Unmarshal(value[:stringLen(value)], &s) == nil {
				m.add([]byte(s))
			}
		case '[':
			if message, ok := numbered(value); ok {
				m.add(message)
			}
		}
	})
	return m
}

// numbered is a message that is no text, as the journal has it: a list of the bytes' values.
func numbered(value []byte) (message []byte, ok bool) {
	const longest = len("255,")
	var list []uint16
	end := bytes.IndexByte(value[:min(len(value), longest*maxLine)], ']')
	if end < 0 || json.Unmarshal(value[:end+1], &list) != nil {
		return nil, false
	}
	for _, b := range list {
		message = append(message, byte(b))
	}
	return message, true
}

// eachMember calls visit for the members of the objects in JSON text: the name, and the text that begins with the value.
func eachMember(text []byte, visit func(key string, value []byte)) {
	for {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			return
		}
		n := stringLen(text[i:])
		key := text[i : i+n]
		text = text[i+n:]
		isName := bytes.HasPrefix(bytes.TrimLeft(text[:min(len(text), maxTag)], " \t\r\n"), []byte(":"))
		if !isName || n < 2 || n > maxTag {
			continue
		}
		text = text[bytes.IndexByte(text, ':')+1:]
		if value := bytes.TrimLeft(text, " \t\r\n"); len(value) > 0 {
			visit(string(key[1:n-1]), value)
		}
	}
}

// stringLen is the length of the JSON string that text begins with, which ends with the line at the latest.
func stringLen(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		case '\n':
			return i
		}
	}
	return len(text)
}

// exportFields are the messages in the journal's export format (systemd.io/JOURNAL_EXPORT_FORMATS): a field a line, and one that
// is no text as its name, eight bytes of length, and the value. journalctl -o verbose indents the fields.
func exportFields(data []byte) messages {
	m := make(messages, 0, len(data))
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		line = bytes.TrimLeft(line, " ")
		if value, ok := bytes.CutPrefix(line, []byte("MESSAGE=")); ok {
			m.add(value)
			continue
		}
		if len(line) == 0 || len(line) > maxTag || bytes.IndexByte(line, '=') >= 0 || len(data) < 8 {
			continue
		}
		n := binary.LittleEndian.Uint64(data)
		if n >= uint64(len(data)-8) || data[8+n] != '\n' {
			continue // journalctl -o verbose prints a date
		}
		if string(line) == "MESSAGE" {
			m.add(data[8 : 8+n])
		}
		data = data[8+n+1:]
	}
	return m
}

// columnIn is the column with the messages, where the first line names columns.
func columnIn(head []byte) (separator byte, column int, ok bool) {
	line, _, found := bytes.Cut(head, []byte("\n"))
	for _, s := range []byte(",;\t") {
		names := strings.Split(strings.TrimRight(string(line), "\r"), string(rune(s)))
		for i, n := range names {
			names[i] = strings.ToLower(strings.Trim(n, `"`))
		}
		column = slices.IndexFunc(names, func(n string) bool { return slices.Contains(messageKeys, n) })
		if found && len(names) > 1 && column >= 0 && !slices.ContainsFunc(names, isProse) {
			return s, column, true
		}
	}
	return 0, 0, false
}

// isProse tells whether s is more than the name of a column.
func isProse(s string) bool { return s == "" || len(s) > maxTag || strings.ContainsAny(s, " :,;()[]=") }

// columns are the messages of CSV (RFC 4180), whose quotes may be missing.
func columns(data []byte, separator byte, column int) messages {
	m := make(messages, 0, len(data))
	for len(data) > 0 {
		if data[0] == '\n' || data[0] == '\r' { // an empty line is no record
			data = data[1:]
			continue
		}
		for i, last := 0, false; !last; i++ {
			var field []byte
			if field, data, last = cutField(data, separator); i == column {
				m.add(field)
			}
		}
	}
	return m
}

// cutField takes the first field off; last: it ends its record.
func cutField(data []byte, separator byte) (field, rest []byte, last bool) {
	n := closing(data, separator)
	end := bytes.IndexAny(data[n:], string([]byte{separator, '\n'}))
	if end < 0 {
		end = len(data) - n
	}
	field, rest = bytes.TrimSuffix(data[:n+end], []byte{'\r'}), data[n+end:]
	if n > 0 {
		field = bytes.ReplaceAll(bytes.TrimSuffix(field[1:], []byte{'"'}), []byte(`""`), []byte{'"'})
	}
	if last = len(rest) == 0 || rest[0] == '\n'; len(rest) > 0 {
		rest = rest[1:]
	}
	return field, rest, last
}

// closing is where the field in quotes ends that data begin with, 0 where they begin with another. A quote is text
// where neither its pair nor the field's end follows.
func closing(data []byte, separator byte) int {
	if !bytes.HasPrefix(data, []byte{'"'}) {
		return 0
	}
	for n := 1; ; {
		quote := bytes.IndexByte(data[n:], '"')
		if quote < 0 {
			return len(data)
		}
		n += quote + 1
		behind := bytes.TrimPrefix(data[n:], []byte{'\r'})
		switch {
		case bytes.HasPrefix(data[n:], []byte{'"'}):
			n++
		case len(behind) == 0, behind[0] == separator, behind[0] == '\n':
			return n
		}
	}
}
