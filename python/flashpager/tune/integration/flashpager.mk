# Fragments of the linker script for 'flashpager tune', and the target 'tune'. Include this file in a
# Makefile, behind the rule that is made by default:
#
#     include $(shell flashpager tune --integration make)
#     firmware.elf: $(OBJECTS) firmware.ld $(FLASHPAGER_FRAGMENTS)
#     	$(CC) $(CFLAGS) -T firmware.ld $(FLASHPAGER_LDFLAGS) -o $@ $(OBJECTS)
#
# The linker script has 'INCLUDE order.ld' in .text, before *(.text .text.*), and 'INCLUDE pinned.ld'
# at the head of .data, which stands before .text.

# The folder of the fragments, which belongs to the sources, and the configuration.
FLASHPAGER_FOLDER ?= .
FLASHPAGER_CONFIGURATION ?= flashpager.toml
FLASHPAGER_FRAGMENTS = $(FLASHPAGER_FOLDER)/order.ld $(FLASHPAGER_FOLDER)/pinned.ld
# The map stands beside the program.
FLASHPAGER_LDFLAGS = -L $(FLASHPAGER_FOLDER) -Wl,-Map=$(basename $@).map

$(FLASHPAGER_FRAGMENTS):
	mkdir -p $(@D)
	touch $@

# The program is built by tune itself, in a make of its own.
.PHONY: tune
tune:
	env -u MAKEFLAGS -u MAKELEVEL flashpager tune $(FLASHPAGER_CONFIGURATION)
