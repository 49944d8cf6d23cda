-- An action about no company has the id of a user in company_id if of_user is true. On a cluster it is then on the node
-- that has what this user signs in with, so a sign-in writes on one node.
ALTER TABLE ticketing_audit_entries ADD COLUMN of_user BOOLEAN NOT NULL DEFAULT false;
