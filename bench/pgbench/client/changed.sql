-- Resolve, read, find a difference; lock, look again, read again, write it; read
-- the edges, find them equal; move the etag.
BEGIN;
@include client/resolve.part@
@include client/read.part@
@include client/update.part@
SELECT array_agg(ROW (EdgeSourceId, ChildDocumentId)) AS stored_edges
FROM @store@.ReferenceEdge WHERE ParentDocumentId = :own_id \gset
@include client/bump.part@
END;
