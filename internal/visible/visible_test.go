package visible_test

import (
	"encoding/json"
	"testing"

	"github.com/backsight/backsight/internal/visible"
)

// TestJSON: a text means the same, and shows no character that reorders or steers.
func TestJSON(t *testing.T) {
	const name = "a\x1b[31m\u202eb\x7f\u0085\U000e0001é\n"
	b, err := json.MarshalIndent(map[string]string{name: name}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	got := visible.JSON(b)
	const want = "\"a\\u001b[31m\\u202eb\\u007f\\u0085\\udb40\\udc01é\\n\""
	if string(got) != "{\n "+want+": "+want+"\n}" {
		t.Errorf("%s", got)
	}
	var back map[string]string
	if err := json.Unmarshal(got, &back); err != nil || back[name] != name {
		t.Errorf("%q, %v", back, err)
	}
}

// TestLine: a name stays one line of what it shows.
func TestLine(t *testing.T) {
	if got := visible.Line("operator<<(é)\n\x1b\u202e\u2028"); got != "operator<<(é)????" {
		t.Errorf("%q", got)
	}
}
