package move_test

import (
	"os"
	"testing"

	"github.com/mosey-web/mosey/db/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }
