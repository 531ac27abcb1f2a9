// The natural calls of node-postgres: values have no type, and objects become JSON.
//
//     node pg_calls.js FOLDER-OF-MODULES HOST PORT
//
// Prints a line for each call.
const { Client } = require(process.argv[2] + '/pg');

async function main() {
	const client = new Client({ host: process.argv[3], port: Number(process.argv[4]), database: 'postgres', user: process.env.PGUSER });
	const student = { studentUniqueId: 'js', firstName: 'Ada', lastSurname: 'King', birthDate: '2014-02-03' };
	const key = { studentUniqueId: 'js' };

	// A value as the driver gives it; of JSON, the names or the length.
	function show(value) {
		if (Array.isArray(value)) return `[${value.length}]`;
		return value !== null && typeof value === 'object' ? `{${Object.keys(value).sort().join(' ')}}` : String(value);
	}

	async function ask(name, text, ...values) {
		const result = await client.query({ text, values, rowMode: 'array' });
		console.log(name + ':', ...result.rows[0].map(show));
		return result;
	}

	await client.connect();
	for (const [name, kind] of [['a string', JSON.stringify], ['an object', (value) => value]]) {
		await ask('upsert ' + name, 'SELECT outcome FROM dms.upsert_document($1, $2, $3)', 'ed-fi', 'students', kind(student));
		await ask('resolve ' + name, 'SELECT dms.resolve($1, $2, $3) IS NOT NULL', 'ed-fi', 'students', kind(key));
		await ask('update ' + name, "SELECT outcome FROM dms.update_document(dms.resolve('ed-fi', 'students', $1), $2)", kind(key), kind(student));
		await ask('query ' + name, "SELECT dms.query_documents($1, $2, $3) ->> 'firstName'", 'ed-fi', 'students', kind(key));
		await ask('count ' + name, 'SELECT dms.count_documents($1, $2, $3)', 'ed-fi', 'students', kind(key));
		await ask('handle_request ' + name, 'SELECT status, headers FROM dms.handle_request($1, $2, $3, $4)',
			'POST', '/ed-fi/students', kind({ 'If-Match': '"2"', correlationid: 'c' }), kind(student));
		await ask('process_request ' + name, 'CALL dms.process_request($1, $2, $3, $4)', 'POST', '/ed-fi/students', kind({ correlationid: 'c' }), '{');
	}
	await ask('update many', "SELECT outcome FROM dms.update_documents(ARRAY[dms.resolve('ed-fi', 'students', $1)], $2)", key, [JSON.stringify(student)]);
	const result = await ask('process_request', 'CALL dms.process_request($1, $2)', 'GET', '/ed-fi/students?limit=0');
	console.log('columns:', ...result.fields.map((field) => field.name));
	try {
		await client.query('SELECT dms.upsert_document($1, $2, $3)', ['ed-fi', 'students', {}]);
	} catch (error) {
		console.log('an error:', error.code, JSON.parse(error.detail).status);
	}
	await client.end();
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});
