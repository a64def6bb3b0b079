package seedfile

// FromBounded is From with another bound than MaxUnpackedBytes.
var FromBounded = from
