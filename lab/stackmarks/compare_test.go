package stackmarks

import (
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/study"
)

// TestComparison: equal functions; another size, which nothing explains; a call that GCC alone has, and that objdump does not see either;
// one that the code alone has.
func TestComparison(t *testing.T) {
	img, err := image.Open("../../testdata/microcontroller/m3-freertos.elf", backsight.ImageFormats(), image.Options{Archs: backsight.CPUs(), NoDebugFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	r, err := study.StackUsage(t.Context(), img, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := NewComparison("arm", img, r, Listing{"mid_b": "bl 3b8 <mid_c>"})
	c.Add([]Figure{
		{Name: "mid_a", Bytes: 8, Kind: "static", Calls: []string{"mid_b"}},
		{Name: "mid_b", Bytes: 80, Kind: "static", Calls: []string{"mid_c", "gone"}},
		{Name: "caught", Bytes: 192, Kind: "static", Calls: []string{"stop"}, Pointers: true},
		{Name: "startup", Bytes: 8, Kind: "static"},
		{Name: "inlined", Bytes: 8, Kind: "static"},
	})
	if c.Functions != 4 || c.Bytes != 3 || c.Same != 2 {
		t.Errorf("%+v, %+v", c.Tally, c.Differ)
	}
	why := map[string]string{}
	for _, d := range c.Differ {
		why[d.Name+": "+d.GCC+d.Code] = d.Why
	}
	if w, ok := why["mid_b: 80 static48"]; !ok || w != "" {
		t.Errorf("%q", why)
	}
	if why["mid_b: calls gone"] == "" || why["startup: calls mid_a"] != "" {
		t.Errorf("%q", why)
	}
}
