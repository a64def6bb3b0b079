package crawl

import "github.com/mosey-web/mosey/crawl/settings"

// The names of package settings, for those that know them by this package.
type (
	Settings   = settings.Settings
	Scope      = settings.Scope
	GroupBy    = settings.GroupBy
	Purpose    = settings.Purpose
	Images     = settings.Images
	ImageScope = settings.ImageScope
	WhenDone   = settings.WhenDone
	Duration   = settings.Duration
	Window     = settings.Window
	Weekdays   = settings.Weekdays
)

// The values of package settings.
const (
	Unlimited            = settings.Unlimited
	DelayMax             = settings.DelayMax
	PagesPerActivityAuto = settings.PagesPerActivityAuto
	PagesPerActivityMax  = settings.PagesPerActivityMax
	ScopeSeeds           = settings.ScopeSeeds
	ScopeWeb             = settings.ScopeWeb
	GroupByHost          = settings.GroupByHost
	GroupByRegistered    = settings.GroupByRegistered
	PurposeSearch        = settings.PurposeSearch
	PurposeAITrain       = settings.PurposeAITrain
	PurposeArchive       = settings.PurposeArchive
	WhenDoneEnd          = settings.WhenDoneEnd
	WhenDoneWait         = settings.WhenDoneWait
	WhenDoneRecrawl      = settings.WhenDoneRecrawl
	SkipExtensions       = settings.SkipExtensions
	SkipVariants         = settings.SkipVariants
	ImagesOff            = settings.ImagesOff
	ImagesMetadata       = settings.ImagesMetadata
	ImagesStore          = settings.ImagesStore
	ImageScopeSeeds      = settings.ImageScopeSeeds
	ImageScopeAny        = settings.ImageScopeAny
)

// The functions of package settings.
var (
	ParseSettings = settings.Parse
	ParseWindows  = settings.ParseWindows
)
