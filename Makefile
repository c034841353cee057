# One non-recursive Makefile. `make help` lists the targets.
#
#   MODE=release|debug|asan|tsan   how to compile; objects go to build/<mode>/
#   CC=gcc|clang                   both compile without warnings
#   WERROR=1                       warnings are errors (the tests say so)

MODE    ?= release
BUILD   ?= build/$(MODE)
PREFIX  ?= /usr/local
DESTDIR ?=

# ---- what there is -----------------------------------------------------------
# A folder may include only folders to its left (make check-layers).
LAYERS := base io lex store task pack llm prompt verify find search curriculum \
          data analyze web cmd

LIB_SRC    := $(foreach d,$(LAYERS),$(wildcard src/$(d)/*.c))
UNIT_SRC   := $(wildcard tests/unit/*.c)
FUZZ_SRC   := $(wildcard tests/fuzz/fuzz_*.c)
BENCH_SRC  := $(wildcard bench/*.c)
HEADERS    := $(wildcard src/*/*.h)
C_FILES    := $(wildcard src/*.c src/*/*.c tests/*/*.c bench/*.c)
SUITES     := $(sort $(patsubst tests/unit/test_%.c,%,\
                $(wildcard tests/unit/test_*.c)))

# ---- how it is compiled -------------------------------------------------------
PKG_DEB_libcurl     := libcurl4-openssl-dev
PKG_DEB_jansson     := libjansson-dev
PKG_DEB_libpcre2-8  := libpcre2-dev
PKG_DEB_inih        := libinih-dev
PKG_DEB_libutf8proc := libutf8proc-dev
PKGS     := libcurl jansson libpcre2-8 inih libutf8proc

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wvla -Wwrite-strings -Wformat=2
HARDEN := -fstack-protector-strong -fPIE
ifeq ($(MODE),asan)
  OPT := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
         -fno-omit-frame-pointer
  LDOPT := -fsanitize=address,undefined
else ifeq ($(MODE),tsan)
  OPT := -O1 -g -fsanitize=thread
  LDOPT := -fsanitize=thread
else ifeq ($(MODE),debug)
  OPT := -O0 -g3
else
  OPT := -O2 -g -D_FORTIFY_SOURCE=3
endif
ifdef WERROR
  WARN += -Werror
endif
CFLAGS  ?=
LDFLAGS ?=
BASE_CFLAGS := -std=c11 -D_GNU_SOURCE -Isrc -include base/banned.h $(WARN) \
               $(HARDEN) $(OPT)
BASE_LDFLAGS := -pie -Wl,-z,relro,-z,now $(LDOPT)

# Targets that compile nothing must not ask for libraries.
NO_LIBS := help setup clean format install-python worker run test test-long
ifneq ($(filter-out $(NO_LIBS),$(or $(MAKECMDGOALS),all)),)
  missing := $(strip $(foreach p,$(PKGS),\
      $(shell pkg-config --exists $(p) 2>/dev/null || echo $(PKG_DEB_$(p)))))
  ifneq ($(missing),)
    $(error missing libraries: run './setup run', or: apt-get install $(missing))
  endif
  LIB_CFLAGS := $(shell pkg-config --cflags $(PKGS))
  LIBS       := $(shell pkg-config --libs $(PKGS))
endif

objs = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIB_OBJ  := $(call objs,$(LIB_SRC))
MAIN_OBJ := $(call objs,src/main.c)
UNIT_OBJ := $(call objs,$(UNIT_SRC))

# ---- programs -----------------------------------------------------------------
.PHONY: all
all: monkeys ## build ./monkeys

monkeys: $(BUILD)/monkeys
	@ln -sf $< $@

$(BUILD)/monkeys: $(MAIN_OBJ) $(LIB_OBJ)
	$(CC) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/unit: $(UNIT_OBJ) $(LIB_OBJ)
	$(CC) $(BASE_LDFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/tests/unit/suites.inc: $(wildcard tests/unit/test_*.c) Makefile
	@mkdir -p $(@D)
	@for s in $(SUITES); do echo "SUITE($$s)"; done > $@

$(BUILD)/tests/unit/main.o: $(BUILD)/tests/unit/suites.inc

$(BUILD)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(BASE_CFLAGS) $(CFLAGS) $(LIB_CFLAGS) -I$(BUILD)/tests/unit \
	    -Itests/unit -MMD -MP -c -o $@ $<

-include $(LIB_OBJ:.o=.d) $(MAIN_OBJ:.o=.d) $(UNIT_OBJ:.o=.d)

.PHONY: unit
unit: $(BUILD)/unit ## run the unit tests (NAME=filter)
	$(BUILD)/unit $(NAME)
