SELECT @store@.change_enrollment(:enrollment_base::bigint + :student, DATE '2000-01-01' + :exit::int);
