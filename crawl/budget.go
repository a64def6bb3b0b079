package crawl

// Budget is a limit of a whole run. The values are stored.
type Budget string

// The budgets of a whole run but for that of pages, which is exact.
const (
	// BudgetBytes is Settings.MaxBytes.
	BudgetBytes Budget = "bytes"
	// BudgetTime is Settings.MaxTime.
	BudgetTime Budget = "time"
)
