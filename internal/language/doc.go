// Package language names the language that a page is written in, as a canonical tag of
// BCP 47 (RFC 5646) such as "pt-BR" or "zh-Hant".
//
// The text decides: its script, its frequent words, and models, which have a package of
// their own because they are large. A page's declaration often only comes from its
// template. So it counts at once only if the text has the frequent words of that
// language; if not, the models are asked. It decides what the text cannot show: between
// languages that are all but the same in writing, for languages without a model, and
// for region and script. A text that is too short, or not running text, is undetermined
// unless its language is declared and its script agrees.
package language
