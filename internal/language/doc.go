// Package language names the language that a page is written in, as a canonical tag of
// BCP 47 (RFC 5646) such as "pt-BR" or "zh-Hant".
//
// The text decides: its script, its frequent words, and models that are in a package of
// their own, for they are large. What pages declare is often what their template came
// with, and counts at once only where the text has the frequent words of that language;
// the models are asked where it does not. It decides where the text
// cannot: between languages that are all but the same in writing, for those that there
// is no model of, and for region and script. A text that is too short, or no running
// text, is undetermined unless its language is declared and its script agrees.
package language
