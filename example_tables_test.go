package backsight_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
)

// Tables make a walk's first visit to a place as cheap as a search; they are made once
// for each binary and found again by its build ID or digest.
func ExampleCompileTable() {
	files := backsight.NewFiles(input.FileOptions{})
	defer files.Close()
	img, err := files.Open("testdata/mips-naked/modules/packer")
	if err != nil {
		log.Fatal(err)
	}
	t, err := backsight.CompileTable(img)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tables")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := t.Save(context.Background(), t.Path(dir)); err != nil {
		log.Fatal(err)
	}
	_, err = backsight.NewUnwinder(backsight.Options{TableDir: dir, Warn: func(err error) { log.Print(err) }})
	fmt.Println(err)
	// Output: <nil>
}
