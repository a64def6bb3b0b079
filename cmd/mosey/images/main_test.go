package images

import (
	"os"
	"testing"

	"github.com/mosey-web/mosey/test/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }
