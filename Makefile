# One non-recursive Makefile. `make help` lists the targets.
#
#   MODE=release|debug|asan|tsan   how to compile; objects go to build/<mode>/
#   CC=gcc|clang                   both compile without warnings
#   WERROR=1                       warnings are errors, as in the tests
#   JOBS=N                         compilers at once in `make test`
#   PG=1                           with PostgreSQL (libpq) for shared archives
#   V=1                            show the commands that are run

MODE    ?= release
BUILD   ?= build/$(MODE)
PREFIX  ?= /usr/local
DESTDIR ?=
CLANG   ?= clang-14
JOBS    ?= $(shell nproc)

# ---- what there is -----------------------------------------------------------
# A folder may include only itself and folders to its left (make check-layers).
LAYERS := base io source store pack llm prompt verify \
          curriculum search run data analyze web cmd

# Two files have the connection to PostgreSQL, one of which needs libpq: see PG below.
LIB_SRC    := $(filter-out src/store/pg.c src/store/pg_none.c,\
                $(foreach d,$(LAYERS),$(wildcard src/$(d)/*.c)))
# The page's own files, which become C. Its script is one file in the end.
ASSETS     := src/web/assets
SCRIPTS    := $(addprefix $(ASSETS)/,text.js data.js charts.js overview.js grid.js \
                results.js workers.js archive.js task.js frame.js)
# Queries become C, too (run/query.h).
SQL_FILES  := $(wildcard src/*/*.sql src/*/*/*.sql)
# monkeys-worker needs libc alone: its own files, and those of base and io that do.
WORKER_SRC := $(wildcard src/worker/*.c) \
              $(addprefix src/base/,arena.c buf.c err.c fs.c home.c log.c \
                mac.c map.c mem.c opt.c secret.c str.c tick.c) \
              $(addprefix src/io/,frame.c link.c loop.c server.c)
# monkeys-runner, too. What a program is can be read without the rest of it.
PROGRAM_SRC := src/runner/program.c src/runner/dtype.c
RUNNER_SRC := $(wildcard src/runner/*.c) \
              $(addprefix src/base/,arena.c buf.c err.c mem.c opt.c str.c tick.c)
BOX_SRC    := src/worker/box.c
UNIT_SRC   := $(wildcard tests/unit/*.c)
FUZZERS    := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
HEADERS    := $(wildcard src/*/*.h)
C_FILES    := $(wildcard src/*.c src/*/*.c tests/*/*.c bench/*.c bench/*/*.c)
SUITES     := $(patsubst tests/unit/test_%.c,%,$(wildcard tests/unit/test_*.c))

# ---- how it is compiled ------------------------------------------------------
PKGS := libcurl libcrypto jansson libpcre2-8 libutf8proc sqlite3 libzstd libmicrohttpd
DEB_libcurl     := libcurl4-openssl-dev
DEB_libcrypto   := libssl-dev
DEB_jansson     := libjansson-dev
DEB_libpcre2-8  := libpcre2-dev
DEB_libutf8proc := libutf8proc-dev
DEB_sqlite3     := libsqlite3-dev
DEB_libzstd     := libzstd-dev
DEB_libmicrohttpd := libmicrohttpd-dev
DEB_libpq         := libpq-dev

# One object differs, so both programs are linked from the same others: monkeys,
# and with PG=1 monkeys-pg, which ./monkeys then is.
PG ?=
WITH_PG := $(if $(filter-out 0,$(PG)),-pg)
ifneq ($(WITH_PG)$(filter %-pg check-clang check-commands check-programs tidy,$(MAKECMDGOALS)),)
  PKGS += libpq
endif

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
        -Wmissing-prototypes -Wvla -Wwrite-strings -Wformat=2
ifdef WERROR
  WARN += -Werror
endif
SAN_asan := -fsanitize=address,undefined -fno-sanitize-recover=all \
            -fno-omit-frame-pointer
SAN_tsan := -fsanitize=thread
SAN_fuzz := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
SAN      := $(SAN_$(MODE))
OPT_release := -O2 -g -D_FORTIFY_SOURCE=3
OPT_debug   := -O0 -g3
OPT_asan    := -O1 -g
OPT_tsan    := -O1 -g
OPT_fuzz    := -O1 -g

CFLAGS   ?=
LDFLAGS  ?=
C_FLAGS  := -std=c11 -D_GNU_SOURCE -Isrc -include base/banned.h $(WARN) \
            -fstack-protector-strong -fPIE -ffp-contract=off $(OPT_$(MODE)) $(SAN)
L_FLAGS  := -pie -Wl,-z,relro,-z,now $(SAN)

# Only targets that compile the main program ask for its libraries.
NO_LIBS := help check-size run test test-long test-gpu test-live worker clean format
ifneq ($(filter-out $(NO_LIBS),$(or $(MAKECMDGOALS),all)),)
  missing := $(strip $(foreach p,$(PKGS),\
      $(shell pkg-config --exists $(p) 2>/dev/null || echo $(DEB_$(p)))))
  ifneq ($(missing),)
    $(error missing libraries; run ./setup run, or: apt-get install $(missing))
  endif
  LIB_CFLAGS := $(shell pkg-config --cflags $(PKGS))
  LIBS       := $(shell pkg-config --libs $(filter-out libpq,$(PKGS))) -lm
  PG_LIBS    := $(if $(filter libpq,$(PKGS)),$(shell pkg-config --libs libpq))
endif

# $(call do,CC,file) starts a recipe: it prints that, or, with V=1, the command.
do = $(if $(V),,@echo '$(1) $(2)';)

objs = $(patsubst %.c,$(BUILD)/%.o,$(1))
BASE_OBJ   := $(call objs,$(LIB_SRC)) $(BUILD)/assets.o $(BUILD)/sql.o
LIB_OBJ    := $(BASE_OBJ) $(call objs,src/store/pg_none.c)
PG_OBJ     := $(BASE_OBJ) $(call objs,src/store/pg.c)
MAIN_OBJ   := $(call objs,src/main.c)
WORKER_OBJ := $(call objs,$(WORKER_SRC))
RUNNER_OBJ := $(call objs,$(RUNNER_SRC))
UNIT_OBJ   := $(call objs,$(UNIT_SRC))

# ---- programs ----------------------------------------------------------------
.PHONY: all programs worker
all: programs ## build ./monkeys, ./monkeys-worker and ./monkeys-runner
programs: $(BUILD)/monkeys$(WITH_PG) worker
	@ln -sfn $(BUILD)/monkeys$(WITH_PG) monkeys

worker: $(addprefix $(BUILD)/,monkeys-worker monkeys-runner libmonkeys-box.so) ## build ./monkeys-worker and ./monkeys-runner alone: libc is enough
	@ln -sfn $(BUILD)/monkeys-worker monkeys-worker
	@ln -sfn $(BUILD)/monkeys-runner monkeys-runner
	@ln -sfn $(BUILD)/libmonkeys-box.so libmonkeys-box.so

$(BUILD)/monkeys: $(MAIN_OBJ) $(LIB_OBJ)
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/monkeys-pg: $(MAIN_OBJ) $(PG_OBJ)
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(PG_LIBS)

$(BUILD)/monkeys-worker: $(WORKER_OBJ)
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ -ldl

$(BUILD)/monkeys-runner: $(RUNNER_OBJ) $(BUILD)/move_ptx.o
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ -ldl

# Loaded into Python, so without sanitizers in every mode.
$(BUILD)/libmonkeys-box.so: $(BOX_SRC) src/worker/box.h
	@mkdir -p $(@D)
	$(call do,LD,$(@F)) $(CC) $(filter-out $(SAN) -fPIE,$(C_FLAGS)) $(CFLAGS) -fPIC -shared \
	    -Wl,-z,relro,-z,now -o $@ $(BOX_SRC)

$(BUILD)/unit: $(UNIT_OBJ) $(LIB_OBJ)
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/unit-pg: $(UNIT_OBJ) $(PG_OBJ)
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) $(PG_LIBS)

$(BUILD)/dump_tokens: $(BUILD)/tests/lex/dump_tokens.o $(LIB_OBJ)
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# Benchmarks of the search have the mock model of the tests.
$(BUILD)/bench-search $(BUILD)/bench-sim $(BUILD)/bench-pieces: $(BUILD)/bench-%: \
    $(BUILD)/bench/%.o $(BUILD)/tests/unit/mock.o $(LIB_OBJ)
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/bench-sim: $(BUILD)/bench/sim/fleet.o

$(BUILD)/bench-scale: $(BUILD)/bench/scale.o $(BUILD)/tests/unit/fake_worker.o $(LIB_OBJ)
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/bench-%: $(BUILD)/bench/%.o $(LIB_OBJ)
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/page.js: $(SCRIPTS)
	@mkdir -p $(@D)
	@cat $^ >$@

$(BUILD)/assets.c: $(ASSETS)/page.html $(ASSETS)/page.css $(BUILD)/page.js
	@mkdir -p $(@D)
	$(call do,GEN,$(@F)) { echo '#include "web/assets.h"'; for f in $^; do \
	    n=$$(basename $$f | tr . _); echo "const unsigned char $$n[] = {"; \
	    od -An -v -tu1 $$f | sed 's/[0-9][0-9]*/&,/g'; echo "};"; \
	    echo "const size_t $${n}_len = sizeof($$n);"; done; } >$@.part && mv $@.part $@

$(BUILD)/sql.c: Makefile $(SQL_FILES) $(sort $(dir $(SQL_FILES)))
	@mkdir -p $(@D)
	$(call do,GEN,$(@F)) { echo 'extern const struct sql_file { const char *name, *text; } sql_files[];'; \
	    echo 'const struct sql_file sql_files[] = {'; for f in $(filter %.sql,$^); do \
	    n=$${f#src/}; echo "{\"$${n%.sql}\", (const char[]){"; \
	    od -An -v -tu1 $$f | sed 's/[0-9][0-9]*/&,/g'; echo '0}},'; done; \
	    echo '{0, 0}};'; } >$@.part && mv $@.part $@

# The kernel of the runner's moves, as a string.
$(BUILD)/move_ptx.c: src/runner/move.ptx
	@mkdir -p $(@D)
	$(call do,GEN,$(@F)) { echo 'extern const char move_ptx[];'; echo 'const char move_ptx[] = {'; \
	    od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g'; echo '0};'; } >$@.part && mv $@.part $@

$(BUILD)/assets.o $(BUILD)/sql.o $(BUILD)/move_ptx.o: $(BUILD)/%.o: $(BUILD)/%.c $(BUILD)/flags
	$(call do,CC,$<) $(CC) $(C_FLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/tests/unit/suites.inc: $(wildcard tests/unit/test_*.c) tests/unit
	@mkdir -p $(@D)
	@for s in $(sort $(SUITES)); do echo "SUITE($$s)"; done > $@

$(BUILD)/tests/unit/main.o: $(BUILD)/tests/unit/suites.inc

# Objects depend on the flags: this file changes only when they do.
COMPILE := $(CC) $(filter-out -Werror,$(C_FLAGS)) $(CFLAGS)
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(COMPILE)' | cmp -s - $@ || echo '$(COMPILE)' >$@
.PHONY: FORCE
FORCE:

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call do,CC,$<) $(CC) $(C_FLAGS) $(CFLAGS) $(LIB_CFLAGS) -Itests/unit \
	    -I$(BUILD)/tests/unit -MMD -MP -c -o $@ $<

-include $(wildcard $(BUILD)/src/*.d $(BUILD)/*/*/*.d $(BUILD)/bench/*.d)

# ---- the two commands --------------------------------------------------------
.PHONY: run test test-long test-gpu test-live
run: ## install what is missing, build, and port the starter tasks to quill with recorded answers
	./setup run
	@$(MAKE) --no-print-directory all
	@rm -rf build/starter-run
	./monkeys run --tasks starter --dsl quill --device cpu --attempts 4 --batch 8 \
	    --guide recordings/quill/guide.md --no-card --pack-seeds 1 \
	    --cassette recordings/quill/monkeys.jsonl --model claude \
	    --out build/starter-run
	@echo; ./monkeys report build/starter-run

# The tests wait more than they compute: the other builds and checks run beside them.
test: ## install what is missing, build, and run the tests (under 20 minutes)
	./setup test
	@$(MAKE) --no-print-directory WERROR=1 -j$(JOBS) all build/release/dump_tokens
	@if [ -f build/tests/times ]; then mv build/tests/times build/times; fi; rm -rf build/tests
	@$(MAKE) --no-print-directory WERROR=1 -j$$(($(JOBS) + 3)) -k --output-sync \
	    check-python check-commands check check-clang check-headers check-bench \
	    check-layers check-size check-format check-man check-words; status=$$?; tests/slowest build/tests; \
	    tests/failed build/tests; exit $$status

# Hours. `make -k test-long` goes on after a failure; `make long-fuzz` is a part alone.
LONG := long-cap long-kills long-shared long-run long-faults long-methods long-verify long-many \
        tidy check-tsan long-worker long-pieces long-tokens long-fuzz
PYTEST := $${MONKEYS_PYTHON:-.venv/bin/python} -m pytest -q -p no:cacheprovider
.PHONY: $(LONG)
test-long: ## the long tests: kills, 1,000 faults, 2,000 candidates, 1,300,000 strings, 5 minutes of fuzzing per target, TSan, clang-tidy
	./setup test
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory $(LONG)

long-cap:
	@CAP_SEEDS=200 $(MAKE) --no-print-directory unit NAME=cap
long-kills:
	@SEARCH_KILL_STRIDE=1 $(MAKE) --no-print-directory unit NAME=search_kill
long-shared:
	@SEARCH_KILL_STRIDE=1 $(MAKE) --no-print-directory unit NAME=search_shared
long-run:
	RUN_KILLS=100 prove tests/cli/run.t
long-faults:
	for seed in 1 2 3 4; do \
	    CHAOS_FAULTS=250 CHAOS_SEED=$$seed prove -v tests/cli/chaos.t || exit 1; done
long-methods:
	COMPARE=all prove tests/cli/compare.t
long-verify:
	VERIFY=all prove tests/cli/verify.t
	./monkeys verify --device cpu --dsl triton --list tests/verify/starter-triton.list --no-timing
long-many:
	python3 tests/cli/run/many.py
long-worker:
	MONKEYS_SOAK=2000 SEEDS=all HOSTILE=all $(PYTEST) -s $(addprefix tests/worker/test_,soak.py \
	    hostile.py timing.py gpu_seeds.py triton_pack.py nvcc_seeds.py)
long-pieces:
	PIECES=all $(PYTEST) tests/worker/test_decompose.py
long-tokens:
	TOKENS_STRINGS=200000 TOKENS_POINTS=1 $(PYTEST) tests/data
long-fuzz:
	@$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=300

test-gpu: worker ## what only a GPU can show (KERNELBENCH=DIR: its tasks too); needs torch and triton, not monkeys
	$${MONKEYS_PYTHON:-python3} tests/gpu/run.py --device $(or $(DEVICE),cuda:0) \
	    $(if $(KERNELBENCH),--kernelbench $(KERNELBENCH))

test-live: ## install a small language model (130 MB), and ask it for real (7 to 30 minutes)
	./setup live
	@$(MAKE) --no-print-directory WERROR=1 all
	prove -v tests/live/live.t

# ---- checks ------------------------------------------------------------------
.PHONY: quick unit check check-clang check-programs check-commands check-python check-busy
.PHONY: check-tsan check-headers check-bench check-layers check-circles check-format check-man
.PHONY: check-words check-size check-names
# While working: one of each kind. `make test` is what counts.
QUICK := $(patsubst %,tests/cli/%.t,analyze check export main prompt show tasks)
quick: ## the unit tests and a sample of all others, in two minutes
	@$(MAKE) --no-print-directory WERROR=1 -j$(JOBS) all build/release/unit build/release/dump_tokens
	@$(MAKE) --no-print-directory WERROR=1 -j$$(($(JOBS) + 1)) -k --output-sync \
	    quick-unit quick-commands quick-python check-layers check-size check-format check-man check-words
.PHONY: quick-unit quick-commands quick-python
quick-unit: $(BUILD)/unit
	@$(call prove_suites,$(BUILD)/unit)
quick-commands: programs
	@prove -j2 -e sh $(QUICK)
quick-python: programs $(BUILD)/dump_tokens
	@prove -e /usr/bin/python3 tests/lex/diff_tokenize.py :: $(BUILD)/dump_tokens --limit 20
	@$(PYTEST) tests/worker/sample.py $(addprefix tests/worker/test_,patches.py traces.py structure.py)
	@$(PYTEST) tests/data/test_decontaminate.py tests/browser/test_page.py -k 'not pictures'

unit: $(BUILD)/unit ## run the unit tests (NAME=filter, MODE=…)
	$(BUILD)/unit $(NAME)

check-programs: $(BUILD)/unit-pg $(BUILD)/monkeys $(BUILD)/monkeys-worker \
                $(BUILD)/monkeys-runner \
                $(FUZZERS:%=$(BUILD)/replay-%)

# The suites in four parts: they wait for the disk, and looking for leaks takes seconds per process.
prove_suites = prove -j4 -fo -e $(1) 1/4 2/4 3/4 4/4
check: ## unit tests and stored fuzz inputs under ASan and UBSan (leaks of the latter: make fuzz)
	@$(MAKE) --no-print-directory MODE=asan check-programs
	@tests/keep unit $(call prove_suites,build/asan/unit-pg)
	tests/fuzz/replay build/asan

check-clang: ## clang has no warnings about the code either (fuzz targets are linked by it)
	@$(CLANG) $(filter-out $(SAN),$(C_FLAGS)) $(LIB_CFLAGS) -Werror -fsyntax-only \
	    $(filter src/%,$(C_FILES))

# Both wait more than they compute. The slowest files come first (tests/order).
check-commands: programs $(BUILD)/monkeys-pg ## the commands as a user meets them
	@tests/keep commands prove -j$$(($(JOBS) + 1)) -fo -e tests/timed \
	    $$(tests/order tests/cli/*.t)

check-python: programs $(BUILD)/dump_tokens ## pytest: the worker; the lexer against Python's own
	@tests/keep python tests/run $$(($(JOBS) + 2))

check-busy: programs $(BUILD)/unit ## what restarts, kills or waits, N=30 times beside four busy loops (TESTS=…)
	@tests/busy $(or $(N),30) $(TESTS)

check-tsan: ## unit tests under ThreadSanitizer
	@$(MAKE) --no-print-directory MODE=tsan build/tsan/unit-pg
	$(call prove_suites,build/tsan/unit-pg)

check-bench: ## every benchmark compiles
	@for b in bench/*.c; do $(CC) $(C_FLAGS) $(LIB_CFLAGS) -Werror -Itests/unit \
	    -fsyntax-only $$b || exit 1; done

check-headers: ## each header compiles alone
	@for h in $(HEADERS); do \
	    $(CC) $(C_FLAGS) $(LIB_CFLAGS) -Werror -fsyntax-only -x c $$h || exit 1; \
	done

check-layers: check-circles check-names ## a folder includes only folders above it; no circle in src/search; names do not clash
	@tests/layers $(LAYERS)

check-names:
	@tests/names

check-size: ## no folder has more lines than tests/sizes allows
	@tests/size

check-circles: $(call objs,$(wildcard src/search/*.c)) ## which file of src/search uses which, in order
	@tests/circles $^

check-format: ## the code is formatted as .clang-format says
	@clang-format-14 --dry-run --Werror $(C_FILES) $(HEADERS) $(SCRIPTS)

check-man: programs ## the manuals are well-formed and agree with the option tables
	@mandoc -Tlint -W warning man/*.1
	@tests/man ./monkeys man/monkeys.1

check-words: programs ## documents and help: width, links, paths, wording
	@tests/words ./monkeys ./monkeys-worker

.PHONY: fuzz tidy format
FUZZ_SECONDS ?= 60
fuzz: ## run every fuzz target (FUZZ_SECONDS=60)
	@$(MAKE) --no-print-directory MODE=fuzz CC=$(CLANG) \
	    $(FUZZERS:%=build/fuzz/fuzz-%)
	@tests/fuzz/run $(FUZZ_SECONDS) $(JOBS) $(FUZZERS)

$(BUILD)/fuzz-program $(BUILD)/replay-program: $(call objs,$(PROGRAM_SRC))

$(BUILD)/fuzz-%: $(BUILD)/tests/fuzz/fuzz_%.o $(LIB_OBJ)
	$(call do,LD,$(@F)) $(CC) -fsanitize=fuzzer,address,undefined $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/replay-%: $(BUILD)/tests/fuzz/fuzz_%.o $(BUILD)/tests/fuzz/replay.o \
                   $(LIB_OBJ)
	$(call do,LD,$(@F)) $(CC) $(L_FLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

tidy: ## clang-tidy over all C files
	@printf '%s\n' $(filter src/%,$(C_FILES)) | xargs -P $(JOBS) -n 8 sh -c 'clang-tidy-14 \
	    --quiet "$$@" -- -std=c11 -D_GNU_SOURCE -Isrc -Itests/unit $(LIB_CFLAGS)' tidy

format: ## format the code
	clang-format-14 -i $(C_FILES) $(HEADERS) $(SCRIPTS)

# ---- the rest ----------------------------------------------------------------
.PHONY: bench man install uninstall clean help
bench: $(patsubst bench/%.c,$(BUILD)/bench-%,$(wildcard bench/*.c)) ## run the benchmarks
	@for b in bench/*.py; do python3 $$b $(BUILD) || exit 1; done

man: programs ## write the option tables into the manual
	@tests/man --write ./monkeys man/monkeys.1

COMPLETIONS := share/bash-completion/completions/monkeys \
    share/zsh/site-functions/_monkeys share/fish/vendor_completions.d/monkeys.fish
install: all ## install under PREFIX (default /usr/local)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin share/man/man1 share/monkeys \
	    share/doc/monkeys $(dir $(COMPLETIONS)))
	install -m 644 completions/monkeys.bash \
	    $(DESTDIR)$(PREFIX)/$(word 1,$(COMPLETIONS))
	install -m 644 completions/_monkeys $(DESTDIR)$(PREFIX)/$(word 2,$(COMPLETIONS))
	install -m 644 completions/monkeys.fish \
	    $(DESTDIR)$(PREFIX)/$(word 3,$(COMPLETIONS))
	install $(BUILD)/monkeys$(WITH_PG) $(DESTDIR)$(PREFIX)/bin/monkeys
	install $(BUILD)/monkeys-worker $(DESTDIR)$(PREFIX)/bin
	install $(BUILD)/libmonkeys-box.so $(BUILD)/monkeys-runner \
	    $(DESTDIR)$(PREFIX)/share/monkeys
	install -m 644 man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 LICENSE *.md docs/*.md $(DESTDIR)$(PREFIX)/share/doc/monkeys
	cp -R archives packs prompts recipes recordings tasks worker prices.ini \
	    $(DESTDIR)$(PREFIX)/share/monkeys
	if [ -x .venv/bin/python ]; then ln -sfn "$(CURDIR)/.venv" \
	    $(DESTDIR)$(PREFIX)/share/monkeys/.venv; fi

uninstall: ## remove what install put under PREFIX
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/monkeys bin/monkeys-worker $(COMPLETIONS) \
	    $(patsubst man/%,share/man/man1/%,$(wildcard man/*.1)))
	rm -rf $(addprefix $(DESTDIR)$(PREFIX)/share/,monkeys doc/monkeys)

clean: ## remove what was built (not .venv)
	rm -rf build monkeys monkeys-worker monkeys-runner libmonkeys-box.so

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' \
	    $(firstword $(MAKEFILE_LIST))
