// How fast jobs are handed over to BullMQ, for bench/bridge:
//
//     node bridge.mjs DIR JOBS
//
// DIR is a copy of examples/documents with its packages.  Prints the jobs a second of
// bridge.mjs, which claims them in the store, and of addBulk() with the same jobs from
// memory.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const dir = process.argv[2];
const jobs = Number(process.argv[3]);
const require = createRequire(`${dir}/package.json`);
const { Queue } = require('bullmq');
const { connectPool, redisOptions, sleep } = await import(pathToFileURL(`${dir}/settings.mjs`).href);
const pool = connectPool(1);
const queue = new Queue('documents', { connection: redisOptions });

const payloads = (await pool.query(`SELECT jsonb_build_object('documentId', id, 'oldVersionId', id || '@1', 'newVersionId', id || '@2') AS payload
    FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $1)) AS made`, [jobs])).rows.map(row => row.payload);

async function fromMemory() {
    for (let i = 0; i < jobs; i += 100)
        await queue.addBulk(payloads.slice(i, i + 100).map(payload => ({
            name: 'diff', data: payload, opts: {
                jobId: `diff-${payload.newVersionId}`, attempts: 10, backoff: { type: 'exponential', delay: 1000 },
                removeOnComplete: 1000, removeOnFail: 10000,
            },
        })));
}

// The time from the bridge's start until no job is left in the store.
async function fromStore() {
    await pool.query(`SELECT count(dms.enqueue_job('bullmq', 'diff', payload)) FROM unnest($1::jsonb[]) AS payload`,
        [payloads.map(payload => JSON.stringify(payload))]);
    const bridge = spawn('node', ['bridge.mjs'], { cwd: dir, stdio: ['ignore', 'pipe', 'inherit'] });

    await new Promise(resolve => bridge.stdout.once('data', resolve));
    const began = process.hrtime.bigint();

    while ((await pool.query('SELECT EXISTS (SELECT FROM dms.Job) AS any')).rows[0].any)
        await sleep(10);
    const seconds = Number(process.hrtime.bigint() - began) / 1e9;

    bridge.kill('SIGKILL');
    return seconds;
}

for (const [name, run] of [['memory', fromMemory], ['bridge', fromStore]]) {
    await queue.obliterate({ force: true });
    const began = process.hrtime.bigint();
    const seconds = await run() ?? Number(process.hrtime.bigint() - began) / 1e9;
    const waiting = await queue.getWaitingCount();

    if (waiting !== jobs)
        throw new Error(`${name}: ${waiting} of ${jobs} jobs have arrived`);
    console.log(`${name} ${jobs / seconds}`);
}
process.exit(0);
