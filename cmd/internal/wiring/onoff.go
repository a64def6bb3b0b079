package wiring

import (
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"
)

// onOff reads switches: on, off, or a flag without a value, which is on.
type onOff struct{}

// IsBool lets such a flag stand without a value; kong calls it.
func (onOff) IsBool() bool { return true }

// Decode reads one; kong calls it.
func (onOff) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	text := "on"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		text = fmt.Sprint(ctx.Scan.Pop().Value)
	}
	if text != "on" && text != "off" {
		return fmt.Errorf("%q: want on or off", text)
	}
	target.SetBool(text == "on")
	return nil
}
