// Interleavings of those who set and read the cache, for test/t/091_documents.pl.  Prints
// what is in the cache after each.
import { pathToFileURL } from 'node:url';

const { Cache, cacheKey } = await import(pathToFileURL(`${process.argv[2]}/cache.mjs`).href);
const TTL = 400;
const one = new Cache(TTL);
const other = new Cache(TTL);
const value = version => JSON.stringify({ documentId: 'd', version, content: `text ${version}` });
const versionOf = text => text === null ? 'none' : JSON.parse(text).version;
const show = async name => console.log(`${name}: ${versionOf(await one.get('d'))}`);
const clear = () => one.redis.del(cacheKey('d'));

await new Promise(resolve => one.redis.once('ready', resolve));
await new Promise(resolve => other.redis.status === 'ready' ? resolve() : other.redis.once('ready', resolve));

// 7 and 8 commit; the setter of 7 is late.
await other.set('d', value(8));
await one.set('d', value(7));
await show('late setter');
await clear();
await other.redis.set(cacheKey('d'), value(8));
await one.redis.set(cacheKey('d'), value(7));
await show('late setter without the script');
await clear();

// A reader misses, and reads 7; 8 commits and is set; then the reader fills.
console.log(`filler misses: ${versionOf(await one.get('d'))}`);
const read = value(7);
await other.set('d', value(8));
console.log(`late filler sets: ${await one.set('d', read)}`);
await show('late filler');

// The document is deleted as 9; the setter of 8 is late.
await other.setDeleted('d', 9);
await show('deleted');
console.log(`late setter sets: ${await one.set('d', value(8))}`);
await show('late setter after a delete');
while (await one.redis.exists(cacheKey('d')))
    await new Promise(resolve => setTimeout(resolve, 20));
await show('after the time to live');
console.log(`set again: ${await one.set('d', value(11))}`);
await show('created again');
one.end();
other.end();
