//go:build !cgo

package main

func prepare() {}
