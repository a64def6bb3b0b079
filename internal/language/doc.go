// Package language identifies the language of a page as a canonical tag of BCP 47 (RFC 5646), such
// as "pt-BR" or "zh-Hant".
//
// The text decides: its script, its frequent words, and models, which have a package of their own
// because they are large. A declaration often comes only from the page's template. It decides at
// once only if the text has the frequent words of its language. Otherwise the models run. The
// declaration also decides questions that the text leaves open: between languages with almost the
// same writing, for languages without a model, and for region and script. The language of a text
// that is too short, or not prose, is undetermined, unless it is declared and its script agrees.
package language
