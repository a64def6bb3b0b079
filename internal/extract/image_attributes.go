package extract

import (
	"slices"
	"strings"
)

// The attributes from which a script fills in a URL. The scripts are named where they have
// names of their own; data-src and data-srcset are those of lazysizes, lozad,
// vanilla-lazyload, and of most plugins of WordPress.
var (
	lazySources = []string{
		"data-src", "data-original", "data-lazy", // jquery.lazyload; slick
		"data-lazy-src",              // Jetpack, WP Rocket
		"data-lazyload",              // Slider Revolution
		"data-cfsrc",                 // Cloudflare Mirage
		"data-ezsrc",                 // Ezoic
		"data-flickity-lazyload",     // Flickity
		"data-opt-src",               // Optimole
		"data-orig-src",              // Avada
		"data-pagespeed-lazy-src",    // mod_pagespeed
		"data-wpfc-original-src",     // WP Fastest Cache
		"data-flickity-lazyload-src", // Flickity, with a srcset
	}
	lazySets = []string{
		"data-srcset", "data-lazy-srcset", "data-original-set", "data-flickity-lazyload-srcset", "data-wpfc-original-srcset",
	}
	lazyBackgrounds = []string{"data-bg", "data-background-image", "data-background"} // lazysizes, vanilla-lazyload; lozad; many others
)

// lazy are the values of an element's attributes that a script fills in, as they follow
// each other, at most 4.
func (a attributes) lazy(keys []string) (values []string) {
	const most = 4
	for _, attr := range a {
		if strings.HasPrefix(attr.Key, "data-") && attr.Namespace == "" && len(values) < most && slices.Contains(keys, attr.Key) {
			values = append(values, attr.Val)
		}
	}
	return values
}

// dimension is a width or height in pixels; 0 for a percentage, for what is no number, and
// for what is beyond maxDimension.
func dimension(value string) int {
	const maxDimension = 100_000
	value = strings.TrimLeft(value, htmlSpace)
	end := 0
	for end < len(value) && '0' <= value[end] && value[end] <= '9' {
		end++
	}
	n := positive(value[:end])
	fraction := strings.TrimLeft(value[end:], ".0123456789")
	if n > maxDimension || strings.HasPrefix(fraction, "%") {
		return 0
	}
	return n
}

// largestSize is the largest of a link's sizes, such as "16x16 32x32"; 0 for "any".
func largestSize(sizes string) (width, height int) {
	for size := range strings.FieldsSeq(sizes) {
		w, h, _ := strings.Cut(strings.ToLower(size[:min(len(size), 32)]), "x")
		if w, h := dimension(w), dimension(h); w > 0 && h > 0 && w*h > width*height {
			width, height = w, h
		}
	}
	return width, height
}
