package retention_test

import (
	"os"
	"testing"

	"github.com/backsight/backsight/service/db/dbtest"
)

// TestMain runs these tests over each database.
func TestMain(m *testing.M) { os.Exit(dbtest.Run(m)) }
