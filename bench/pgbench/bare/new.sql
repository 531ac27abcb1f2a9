SELECT @store@.insert_enrollment(gen_random_uuid(), dms.uuid_v7(), :student_base::bigint + :student,
	:school_base::bigint + :school, DATE '2000-01-01' + :day::int, :grade_base::bigint + :grade,
	:plan_base::bigint + :plan, DATE '2000-01-01' + :exit::int);
