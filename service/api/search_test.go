package api_test

import (
	"errors"
	"testing"
	"time"

	"github.com/backsight/backsight/service/api"
	"github.com/backsight/backsight/service/db"
	"github.com/backsight/backsight/service/db/dbtest"
)

// FuzzSearch: whatever is typed is looked for, or is told to be no search; it is never SQL.
func FuzzSearch(f *testing.F) {
	d, err := db.Open(f.Context(), dbtest.Source(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = d.Close() })
	data := api.NewData(d, time.Now)
	for _, text := range []string{"pack", `"watchdog bit"`, `function:"a b`, "pack* OR", "NEAR(a b)", "address:0x40", "after:2026-01-31", "a:b:c", "-x ^y {functions}: z", "\x00", "log:*", "'; DROP TABLE captures"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := data.Search(t.Context(), 1, text); err != nil && !errors.Is(err, api.ErrSearch) {
			t.Errorf("%q: %v", text, err)
		}
	})
}
