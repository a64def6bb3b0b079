package model_test

const mended = false
