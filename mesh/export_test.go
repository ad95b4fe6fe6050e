package mesh

// TCP is the real network, as a node has it by default.
func TCP() Network { return tcp{128 << 10} }
