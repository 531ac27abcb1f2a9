-- Makes an ApiSchema of a project M from a short form, for tests that change it:
--
--   {"Thing": {"identity": ["$.thingId"], "required": ["thingId"], "properties": {"thingId": {...}, ...},
--     "references": {"place": {"resource": "Place", "members": {"placeId": "$.placeId"}}},
--     "descriptors": {"$.colorDescriptor": "ColorDescriptor"}, "more": {"allowIdentityUpdates": true}}}
--
-- A reference is the property placeReference; its members are mapped to the identity
-- of the target.
CREATE FUNCTION public.short_resource(name text, short jsonb) RETURNS jsonb LANGUAGE sql AS $$
SELECT '{"numericJsonPaths": [], "booleanJsonPaths": [], "dateJsonPaths": [], "dateTimeJsonPaths": [], "equalityConstraints": [],
	"arrayUniquenessConstraints": [], "decimalPropertyValidationInfos": []}'::jsonb || jsonb_build_object('resourceName', name, 'isDescriptor', short ? 'isDescriptor', 'isResourceExtension', false, 'isSubclass', false,
	'isSchoolYearEnumeration', false, 'allowIdentityUpdates', false, 'identityJsonPaths', COALESCE(short -> 'identity', '[]'::jsonb),
	'queryFieldMapping', '{"id": [{"path": "$.id", "type": "string"}]}'::jsonb,
	'documentPathsMapping', (
		SELECT COALESCE(jsonb_object_agg(m.key, m.value), '{}') FROM (
			SELECT initcap(p.key), jsonb_build_object('isReference', false, 'path', '$.' || p.key,
				'type', CASE WHEN p.value ->> 'type' IN ('integer', 'number') THEN 'number' ELSE p.value ->> 'type' END)
			FROM jsonb_each(short -> 'properties') AS p
			WHERE p.value ->> 'type' <> 'array' AND COALESCE(p.value ->> 'format', 'int64') = 'int64'
			  AND NOT COALESCE(short -> 'descriptors' ? ('$.' || p.key), false) AND NOT short ? 'isDescriptor'
			UNION ALL
			SELECT initcap(r.key) || 'Ref', jsonb_build_object('isReference', true, 'isDescriptor', false, 'projectName', 'M',
				'resourceName', r.value ->> 'resource', 'referenceJsonPaths', (
					SELECT jsonb_agg(jsonb_build_object('identityJsonPath', t.value, 'referenceJsonPath', '$.' || r.key || 'Reference.' || t.key,
						'type', 'string') - CASE WHEN t.key = 'placeId' THEN 'type' ELSE '' END
						|| CASE WHEN t.key = 'placeId' THEN '{"type": "number"}'::jsonb ELSE '{}' END ORDER BY t.key)
					FROM jsonb_each(r.value -> 'members') AS t))
			FROM jsonb_each(short -> 'references') AS r
			UNION ALL
			SELECT 'D' || substr(d.key, 3), jsonb_build_object('isReference', true, 'isDescriptor', true, 'projectName', 'M',
				'resourceName', d.value, 'path', d.key, 'type', 'string')
			FROM jsonb_each(short -> 'descriptors') AS d) AS m (key, value)),
	'jsonSchemaForInsert', jsonb_build_object('$schema', 'https://json-schema.org/draft/2020-12/schema', 'additionalProperties', false,
		'type', 'object', 'title', 'M.' || name, 'required', COALESCE(short -> 'required', '[]'::jsonb),
		'properties', (short -> 'properties') || COALESCE((
			SELECT jsonb_object_agg(r.key || 'Reference', jsonb_build_object('type', 'object', 'additionalProperties', false, 'properties', (
				SELECT jsonb_object_agg(t.key, CASE WHEN t.key = 'placeId' THEN '{"type": "integer"}'::jsonb ELSE '{"type": "string", "maxLength": 30}' END)
				FROM jsonb_each(r.value -> 'members') AS t)))
			FROM jsonb_each(short -> 'references') AS r), '{}')))
	|| COALESCE(short -> 'more', '{}')
$$;

CREATE FUNCTION public.short_schema(short jsonb, version text DEFAULT '1.0.0') RETURNS json LANGUAGE sql AS $$
SELECT jsonb_build_object('apiSchemaVersion', '1.0.0', 'projectSchema', jsonb_build_object('projectName', 'M', 'projectEndpointName', 'm',
	'projectVersion', version, 'isExtensionProject', false, 'description', 'A test.', 'abstractResources', COALESCE(short -> 'abstract', '{}'::jsonb),
	'resourceNameMapping', (SELECT jsonb_object_agg(r.key, lower(r.key) || 's') FROM jsonb_each(short - 'abstract') AS r),
	'caseInsensitiveEndpointNameMapping', (SELECT jsonb_object_agg(lower(r.key) || 's', lower(r.key) || 's') FROM jsonb_each(short - 'abstract') AS r),
	'resourceSchemas', (SELECT jsonb_object_agg(lower(r.key) || 's', public.short_resource(r.key, r.value)) FROM jsonb_each(short - 'abstract') AS r)))::json
$$;
