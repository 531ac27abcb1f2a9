# dms: a PostgreSQL extension, built with PGXS.
#
#   make                  build
#   make install          install into the PostgreSQL that PG_CONFIG names
#   make installcheck     regression and isolation tests on a running server, and TAP
#                         tests on servers of their own, with the installed extension;
#                         PROVE_TESTS=test/t/003_examples.pl runs one TAP test
#   make check            the whole test suite, on private servers (same as ./check)
#
#   WERROR=1              warnings are errors
#   FAULTS=1              build for tests, whose guards can be left out
#   REDIS=0               leave out dms_redis, which needs hiredis; it is built by default
#                         if hiredis is there

EXTENSION = dms
MODULE_big = dms

# The source tree; it is not the current directory with make -f path/to/Makefile.
TOP := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

# PGXS sets this itself, except if PostgreSQL was built in its own source tree.
ifneq ($(abspath $(TOP)),$(CURDIR))
VPATH := $(TOP)
endif

DATA = $(notdir $(wildcard $(TOP)/dms--*.sql))

# The folders are layers; each may use those above it in this list, which tools/layers
# checks.
OBJS = src/dms.o
OBJS += $(addprefix src/base/, \
	datetime.o decimal.o faults.o gaps.o grow.o ids.o jsonargument.o jsondiff.o jsontree.o \
	jsontreebuild.o lowercase.o optionlist.o pattern.o referentialid.o report.o sha256.o \
	textdiff.o urn.o uuid.o words.o)
OBJS += $(addprefix src/engine/, \
	attempt.o cursors.o datums.o foreignkey.o keyaccess.o keyedtable.o keyscan.o keywrite.o \
	nowait.o ownercode.o plansizes.o progress.o restrict.o result.o rowplaces.o rowwrite.o \
	running.o safefunction.o session.o snapshot.o statement.o store.o storedrows.o storerow.o \
	tablewriter.o workershare.o writefacts.o)
OBJS += $(addprefix src/model/, \
	edgename.o equalpaths.o jsonwrite.o keyquery.o modelcache.o modelsound.o modelstore.o \
	optionpaths.o resourcemodels.o resourceoptions.o resourcetypes.o searchvector.o \
	uniqueoptions.o value.o)
OBJS += $(addprefix src/schema/, \
	apiread.o apiresource.o apischema.o catalog.o conversion.o ddl.o ddltable.o ddlview.o \
	declaredkeys.o deploycheck.o deployrecord.o deployschemas.o deploytypes.o grants.o \
	jsonschema.o migrationdocuments.o migrationempty.o migrationkeys.o migrationloss.o \
	migrationnames.o migrationplan.o migrationsteps.o migrationviews.o migrationwork.o modelbind.o \
	modelbuild.o modelcheck.o modelgraph.o modelkeys.o modelset.o modeltables.o naming.o renames.o \
	schemadiff.o searchindex.o)
OBJS += $(addprefix src/document/, \
	body.o bodyrules.o changes.o claimstart.o descriptormemo.o descriptoruris.o document.o \
	documentcache.o documentkeys.o edges.o flatten.o generatedid.o history.o historypurge.o \
	idempotencykeys.o identity.o identityread.o idset.o jobs.o notices.o projection.o \
	reconstitute.o redissettings.o references.o referentialids.o rows.o rowtables.o storedpage.o \
	trackedchanges.o trackedreads.o verify.o versiondiffs.o)
OBJS += $(addprefix src/cascade/, \
	cascade.o cascadeequality.o claim.o closure.o edgesources.o futurenames.o identitylocks.o \
	identityturns.o keychanges.o locks.o replaceids.o turnstile.o)
OBJS += $(addprefix src/graph/, \
	accounts.o farends.o looks.o members.o movelock.o nodes.o parents.o recordkeys.o subtree.o \
	uniquekeys.o unrelated.o walk.o)
OBJS += $(addprefix src/verbs/, \
	account.o attach.o batchkeys.o batchresolve.o changecursor.o changefeed.o changepage.o \
	changequery.o delete.o dependents.o diffs.o digests.o ends.o filter.o graphdiagram.o jobcalls.o \
	jobrun.o latest.o precondition.o query.o querysql.o queryterms.o read.o readids.o readrights.o \
	records.o relate.o related.o resolve.o restore.o search.o uniquevalues.o update.o updatebatch.o \
	upsert.o versions.o violations.o write.o writeguard.o writeresult.o)
OBJS += $(addprefix src/request/, \
	idempotency.o idempotencysql.o request.o requestanswer.o requestbody.o requestchanges.o \
	requestdocument.o requestid.o requestparameters.o requestparse.o requestquery.o \
	requestrelations.o requestroutes.o requestversions.o response.o route.o)
OBJS += $(addprefix src/admin/, \
	auditscope.o cachemode.o changetracking.o configure.o configureresource.o deploy.o diagram.o \
	introspect.o migrate.o migratedata.o migratekeys.o projector.o publish.o publisher.o \
	rebuildedges.o repair.o repairsql.o retention.o upgrade.o)
OBJS += $(addprefix src/worker/, \
	launcher.o redistask.o tasks.o worker.o workerstatus.o)

# Compilers do not create the directories that they write to.
$(shell mkdir -p $(sort $(dir $(OBJS))))

# In reading order: later tests use features that earlier ones introduce.
REGRESS = extension uuid lowercase deploy mapping introspection deploy_refusals store indexes protocol
REGRESS += write write_validation write_references write_identity write_many cascade audit migrate migrate_losses migrate_extensions roles configure configure_resource
REGRESS += direct_access direct_constraints hostile hostile_tables hostile_modules contradictions
REGRESS += read kept cache publish query query_changes changes digests history history_rights jobs diffs argument_types requests row_security idempotency relations request_versions request_relations request_changes search generated_id documents
REGRESS += graph_options single_table

# Specs of the fault schedule need pause points, so only ./check runs them.
FAULT_SPECS := $(shell sed 's/\#.*//' $(TOP)/test/isolation/fault_schedule 2>/dev/null)
ISOLATION = $(filter-out $(FAULT_SPECS),\
	$(patsubst $(TOP)/test/isolation/specs/%.spec,%,\
	$(sort $(wildcard $(TOP)/test/isolation/specs/*.spec))))
ISOLATION_OPTS = --inputdir=$(TOP)/test/isolation

# By default, PGXS looks for TAP tests in t/.  They start servers of their own from the
# installation that PG_CONFIG names, so the extension must be installed before.
TAP_TESTS = 1
PROVE_TESTS ?= test/t/*.pl

# The server itself reads the fixture of the isolation tests, so it needs the path.
installcheck: export PGOPTIONS += -c dms_test.dir=$(abspath $(TOP))/test

# Tests on real schema files look for them here.
APISCHEMA_DIR ?= $(abspath $(TOP)/../shared/apischema)
export APISCHEMA_DIR

PG_CONFIG ?= pg_config
INCLUDEDIR_SERVER := $(shell $(PG_CONFIG) --includedir-server)

# A system directory, so that there are no warnings about PostgreSQL's headers.
PG_CPPFLAGS = -I$(TOP)/src -isystem $(INCLUDEDIR_SERVER)

# Callbacks and fmgr functions need not use all of their parameters.
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -MMD -MP
ifdef WERROR
PG_CFLAGS += -Werror
endif
ifdef FAULTS
PG_CPPFLAGS += -DDMS_FAULTS
endif

# The sanitizers that the server was built with; CFLAGS is set when this is expanded.
# With sanitizers, gcc has false warnings about uninitialized variables.  PostgreSQL 15
# overwrites its environment, including UBSAN_OPTIONS, so errors are made fatal here.
SANITIZERS = $(filter -fsanitize=% -fno-sanitize=%,$(CFLAGS))
PG_CFLAGS += $(if $(SANITIZERS),-Wno-error=maybe-uninitialized -fno-sanitize-recover=undefined)

SHLIB_LINK = -luuid

EXTRA_CLEAN = $(OBJS:.o=.d)

ifneq ($(filter check,$(MAKECMDGOALS)),)

# The "check" of PGXS succeeds without testing anything; this one runs the tests.
.PHONY: $(MAKECMDGOALS)
check:
	$(TOP)/check
$(filter-out check,$(MAKECMDGOALS)):
	$(MAKE) -f $(firstword $(MAKEFILE_LIST)) $@

else

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# dms_redis is a library of its own, so that dms never needs hiredis.
REDIS ?= $(if $(wildcard $(addsuffix /hiredis/hiredis.h,/usr/include /usr/local/include)),1,0)
ifneq ($(REDIS),0)
REDIS_OBJS = redis/dms_redis.o
$(shell mkdir -p redis)

all: dms_redis$(DLSUFFIX)
dms_redis$(DLSUFFIX): $(REDIS_OBJS)
	$(CC) $(CFLAGS) $(LDFLAGS) $(LDFLAGS_SL) -shared -o $@ $(REDIS_OBJS) -lhiredis
install: install-redis
install-redis: dms_redis$(DLSUFFIX)
	$(MKDIR_P) '$(DESTDIR)$(pkglibdir)'
	$(INSTALL_SHLIB) $< '$(DESTDIR)$(pkglibdir)/$<'
uninstall: uninstall-redis
uninstall-redis:
	rm -f '$(DESTDIR)$(pkglibdir)/dms_redis$(DLSUFFIX)'
.PHONY: install-redis uninstall-redis
EXTRA_CLEAN += $(REDIS_OBJS) $(REDIS_OBJS:.o=.d) dms_redis$(DLSUFFIX)
$(REDIS_OBJS): $(TOP)/Makefile
-include $(REDIS_OBJS:.o=.d)
endif

# Print why TAP tests are left out.  PGXS does so only for a server without them, but
# PostgreSQL also refuses to start servers as root.
ifneq ($(enable_tap_tests),yes)
prove_installcheck = @echo "TAP tests were not run: $(PG_CONFIG) is of a PostgreSQL that was built without --enable-tap-tests"
else ifeq ($(shell id -u),0)
prove_installcheck = @echo "TAP tests were not run: they start servers, which root may not do; run make installcheck as another user, or ./check"
endif

# Export only the symbols that PostgreSQL calls; others need no lookup when a session
# loads the library.  PostgreSQL 16 and later do this themselves.
ifeq ($(PORTNAME),linux)
SHLIB_LINK += -Wl,--version-script=$(TOP)/src/exports.map
dms.so: $(TOP)/src/exports.map
endif

$(OBJS): $(TOP)/Makefile
-include $(OBJS:.o=.d)

# The stress test is a client, which ./check builds and runs.  If libpq has sanitizers,
# the program must have them, too.
stress: $(wildcard $(TOP)/test/stress/*.[ch])
	$(CC) -std=gnu11 -O1 -g $(SANITIZERS) -Wall -Wextra -Wno-missing-field-initializers $(if $(WERROR),-Werror) \
		-I$(shell $(PG_CONFIG) --includedir) $(filter %.c,$^) -o $@ \
		$(LDFLAGS) -L$(libdir) -Wl,-rpath,$(libdir) -lpq -luuid -lpthread

# So is the test of trees.
forest: $(TOP)/test/forest/forest.c
	$(CC) -std=gnu11 -O1 -g $(SANITIZERS) -Wall -Wextra $(if $(WERROR),-Werror) \
		-I$(shell $(PG_CONFIG) --includedir) $^ -o $@ \
		$(LDFLAGS) -L$(libdir) -Wl,-rpath,$(libdir) -lpq -lpthread

endif

# For scripts: "make -s print-REGRESS" prints the value of a variable.
print-%:
	@echo $($*)
