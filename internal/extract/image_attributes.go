package extract

import "strings"

// maxLazy caps the attributes of one element from which a script may fill in a URL.
const maxLazy = 4

// imageAttributes holds the values of the attributes from which scripts fill in images.
type imageAttributes struct {
	// lazy are URLs that a script fills in as src, lazySets those it fills in as srcset, and
	// backgrounds what it fills in as a background.
	lazy        []string
	lazySets    []string
	backgrounds []string
	// backgroundSet is what a script fills in as the background that fits.
	backgroundSet string
	// fine is a URL for screens of two pixels to a CSS pixel.
	fine string
}

func (a *imageAttributes) read(attrs attributes) {
	for i := range attrs {
		if key, found := strings.CutPrefix(attrs[i].Key, "data-"); found && attrs[i].Namespace == "" {
			a.set(key, attrs[i].Val)
		}
	}
}

// set stores the value of an attribute by its key without "data-". The scripts are named where
// they have names of their own; data-src and data-srcset are those of lazysizes, lozad,
// vanilla-lazyload, and of most plugins of WordPress.
func (a *imageAttributes) set(key, value string) {
	switch key {
	case "src", "original", "lazy", // jquery.lazyload; slick
		"lazy-src",              // Jetpack, WP Rocket
		"lazyload",              // Slider Revolution
		"cfsrc",                 // Cloudflare Mirage
		"ezsrc",                 // Ezoic
		"flickity-lazyload",     // Flickity
		"opt-src",               // Optimole
		"orig-src",              // Avada
		"pagespeed-lazy-src",    // mod_pagespeed
		"wpfc-original-src",     // WP Fastest Cache
		"flickity-lazyload-src": // Flickity, with a srcset
		if len(a.lazy) < maxLazy {
			a.lazy = append(a.lazy, value)
		}
	case "srcset", "lazy-srcset", "original-set", "flickity-lazyload-srcset", "wpfc-original-srcset":
		if len(a.lazySets) < maxLazy {
			a.lazySets = append(a.lazySets, value)
		}
	case "bg", "background-image", "background": // lazysizes, vanilla-lazyload; lozad; many others
		if len(a.backgrounds) < maxLazy {
			a.backgrounds = append(a.backgrounds, value)
		}
	case "bgset": // a plugin of lazysizes
		a.backgroundSet = value
	case "hi-res-src":
		a.fine = value
	}
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
