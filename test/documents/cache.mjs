// Interleavings of those who set and read the cache, for test/t/091_documents.pl:
//
//     node cache.mjs DIR            what is in the cache after each, with the cache of the
//                                   example, and without each of its guards
//     node cache.mjs DIR before     set values, before Redis is killed
//     node cache.mjs DIR after      what becomes of them when it is back with its old file
import { pathToFileURL } from 'node:url';

const { Cache, cacheKey } = await import(pathToFileURL(`${process.argv[2]}/cache.mjs`).href);
const TTL = 400;
const value = version => JSON.stringify({ documentId: 'd', version, content: `text ${version}` });
const versionOf = text => text === null ? 'none' : JSON.parse(text).version;

// Without the script that compares versions.
class PlainCache extends Cache {
    async set(id, text) {
        return await this.redis.set(cacheKey(id), text, 'PX', this.ttl) === 'OK';
    }
}

// Without a value for what was deleted.
class ForgetfulCache extends Cache {
    setDeleted(id) {
        return this.redis.del(cacheKey(id));
    }
}

// Without a time to live.
class EternalCache extends Cache {
    async set(id, text) {
        const done = await super.set(id, text);

        await this.redis.persist(cacheKey(id));
        return done;
    }
}

async function open(Kind) {
    const cache = new Kind(TTL);

    if (cache.redis.status !== 'ready')
        await new Promise(resolve => cache.redis.once('ready', resolve));
    return cache;
}

const expiry = async cache => {
    while (await cache.redis.exists(cacheKey('d')))
        await new Promise(resolve => setTimeout(resolve, 20));
};

// Each returns what is in the cache at its end.
const interleavings = {
    // 7 and 8 commit; the setter of 7 is late.
    async 'late setter'(one, other) {
        await other.set('d', value(8));
        await one.set('d', value(7));
    },
    // A reader misses, and reads 7; 8 commits and is set; then the reader fills.
    async 'late filler'(one, other) {
        const read = await one.get('d') === null ? value(7) : value(99);

        await other.set('d', value(8));
        await one.set('d', read);
    },
    // The document is deleted as 9; the setter of 8 is late.
    async 'late setter after a delete'(one, other) {
        await other.set('d', value(8));
        await other.setDeleted('d', 9);
        await one.set('d', value(8));
    },
    // The same; then it is created again.
    async 'created again'(one, other) {
        await other.setDeleted('d', 9);
        await one.set('d', value(8));
        await other.set('d', value(11));
    },
    // Nobody keeps what was deleted for ever.
    async 'deleted, after its time to live'(one, other) {
        await other.setDeleted('d', 9);
        await expiry(one);
    },
};

async function run(name, Kind) {
    const one = await open(Kind);
    const other = await open(Kind);

    for (const [what, steps] of Object.entries(interleavings)) {
        await one.redis.del(cacheKey('d'));
        await steps(one, other);
        console.log(`${name}: ${what}: ${versionOf(await one.get('d'))}`);
    }
    one.end();
    other.end();
}

async function before() {
    for (const [id, Kind] of [['short', Cache], ['eternal', EternalCache]]) {
        const cache = await open(Kind);

        await cache.set(id, value(7));
        cache.end();
    }
}

// Meanwhile 8 has committed.
async function after() {
    const cache = await open(Cache);
    const store = { query: async () => ({ rows: [{ latest: value(8) }] }) };

    while (await cache.get('short') !== null)
        await new Promise(resolve => setTimeout(resolve, 20));
    for (const id of ['short', 'eternal'])
        console.log(`${id}: ${versionOf((await cache.latest(store, id)).text)}`);
    cache.end();
}

if (process.argv[3] === 'before')
    await before();
else if (process.argv[3] === 'after')
    await after();
else {
    await run('cache', Cache);
    await run('without the script', PlainCache);
    await run('without deleted values', ForgetfulCache);
}
