// The latest version of each document in Redis, under doc:latest:{documentId}.
//
// A value is only ever set by a script that compares versions: whoever is late loses.  So
// writers set it after their commit, and readers after a miss, in any order.  Any error of
// Redis is a miss, and the time to live bounds what a lost update can cost.
//
//     node cache.mjs --listen     also sets what others have written, as the store tells
//                                 (dms.notify = documents)
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import Redis from 'ioredis';
import { connectPool, onEnd, redisOptions, sleep } from './settings.mjs';

const TTL = 10 * 60 * 1000;
const TIMEOUT = 500;
const SET = `
local now = redis.call('GET', KEYS[1])
if now and cjson.decode(now).version >= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3]) return 1
`;

export const cacheKey = id => `doc:latest:${id}`;

export class Cache {
    constructor(ttl = TTL) {
        this.ttl = ttl;
        this.redis = new Redis({
            ...redisOptions, enableOfflineQueue: false, maxRetriesPerRequest: 0, commandTimeout: TIMEOUT,
        });
        this.redis.on('error', () => {});    // told by each command
        this.redis.defineCommand('setLatest', { numberOfKeys: 1, lua: SET });
    }

    // The value as text; null if there is none, the document was deleted, or Redis is away.
    async get(id) {
        try {
            const text = await this.redis.get(cacheKey(id));

            return text === null || JSON.parse(text).deleted ? null : text;
        } catch {
            return null;
        }
    }

    // Set a value unless a later version is there; false if it is, or if Redis is away.
    async set(id, text) {
        try {
            return await this.redis.setLatest(cacheKey(id), text, JSON.parse(text).version, this.ttl) === 1;
        } catch {
            return false;
        }
    }

    // A deleted document is a value, too, so that late setters lose.
    setDeleted(id, version) {
        return this.set(id, JSON.stringify({ documentId: id, version, deleted: true }));
    }

    // The latest version: from Redis, or else from the store.
    async latest(pool, id) {
        const cached = await this.get(id);

        return cached === null ? { text: await this.refresh(pool, id), from: 'store' } : { text: cached, from: 'cache' };
    }

    // Read a document from the store, and set what it says; null if there is none.
    async refresh(pool, id) {
        const { rows } = await pool.query('SELECT dms.latest_version($1) AS latest', [id]);

        if (rows[0].latest !== null)
            await this.set(id, rows[0].latest);
        return rows[0].latest;
    }

    end() {
        this.redis.disconnect();
    }
}

// Set what a notification of the store is about.  It is a hint that anybody can send, so
// only the id is taken from it, and all else from the store.  Many changes of one
// transaction are one notification without ids: their values end with their time to live.
export async function follow(cache, pool, payload) {
    const { documentId } = JSON.parse(payload);

    if (documentId === undefined || await cache.refresh(pool, documentId) !== null)
        return;
    const { rows } = await pool.query('SELECT version, kind FROM dms.list_versions($1, 1)', [documentId]);

    if (rows[0]?.kind === 'deleted')
        await cache.setDeleted(documentId, Number(rows[0].version));
}

async function listen() {
    const cache = new Cache();
    const pool = connectPool(2);
    let stopped = false;

    onEnd(() => { stopped = true; });
    while (!stopped) {
        const client = new pg.Client();

        try {
            const lost = new Promise(resolve => client.once('end', resolve).once('error', resolve));

            await client.connect();
            client.on('notification', ({ payload }) =>
                follow(cache, pool, payload).catch(error => console.error(`cache: ${error.message}`)));
            await client.query('LISTEN dms_documents');
            console.log('cache: listening');
            await lost;
        } catch (error) {
            console.error(`cache: ${error.message}`);
        }
        await client.end().catch(() => {});
        await sleep(1000);
    }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href && process.argv[2] === '--listen')
    await listen();
