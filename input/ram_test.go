package input

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenMemory: formats are asked in order; the first that knows the memory reads it.
func TestOpenMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ram.bin")
	if err := os.WriteFile(path, []byte("ABCD"), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked []string
	format := func(name string, err error) Format {
		return Format{Name: name, OpenMemory: func(_ context.Context, ram *RAM, _ *Env) (Stream, error) {
			r := ram.Regions[0]
			if string(r.Pages.Bytes(0, 99)) != "ABCD" || r.Addr != 0x20000000 || !r.Placed {
				t.Errorf("region %+v", r)
			}
			asked = append(asked, name)
			return nil, err
		}}
	}
	env := &Env{RAM: []NamedImage{ParseNamedImage(path + "@0x20000000")}}
	env.Formats = []Format{{Name: "no memory"}, format("other", ErrUnrecognised), format("right", nil), format("late", nil)}
	s, err := env.OpenMemory(context.Background())
	if err != nil || s == nil || strings.Join(asked, " ") != "other right" {
		t.Errorf("asked %v; error %v", asked, err)
	}
	env.Formats = env.Formats[:2]
	if _, err := env.OpenMemory(context.Background()); !errors.Is(err, ErrUnrecognised) {
		t.Errorf("memory that no format knows: %v", err)
	}
}
