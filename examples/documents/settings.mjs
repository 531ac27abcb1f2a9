// What the programs of this example share: connections, and the end of a program.
//
// The database is found as by psql (PGHOST, PGPORT, PGUSER, PGDATABASE).  REDIS is the
// path of Redis' socket, or its port; the default is 6379.
import pg from 'pg';

const redis = process.env.REDIS ?? '6379';

// How to connect to Redis.  A command that cannot be sent at once fails at once: nobody
// waits for a cache.
export const redisOptions = {
    ...(redis.startsWith('/') ? { path: redis } : { host: '127.0.0.1', port: Number(redis) }),
    retryStrategy: attempts => Math.min(50 * attempts, 1000),
};

// Documents stay the text that the store returns.
pg.types.setTypeParser(pg.types.builtins.JSON, text => text);

export function connectPool(size) {
    const pool = new pg.Pool({ max: size });

    pool.on('error', error => console.error(`database: ${error.message}`));
    return pool;
}

export const sleep = ms => new Promise(resolve => setTimeout(resolve, ms));

// Run a function until a signal ends the program.
export function onEnd(end) {
    for (const signal of ['SIGINT', 'SIGTERM'])
        process.once(signal, () => {
            setTimeout(() => process.exit(0), 3000);    // Redis may be away, too
            Promise.resolve(end()).finally(() => process.exit(0));
        });
}
