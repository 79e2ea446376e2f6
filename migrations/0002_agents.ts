import { type Kysely, sql } from 'kysely';

/**
 * Agents as they are defined (specification, agent_definition and its config). `actor_id` is whom an agent
 * acts as; its role is also the actor's, and is here so that a definition is read in one go. `tier` null:
 * chosen from the trigger when it runs. `tools` are the attached built-in ones in their order, each
 * `{id, tool, review_requirement, config, sort_order, created_at, updated_at}`: they are only ever read and
 * written with their agent.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    CREATE TABLE agent_definitions (
      id text COLLATE "C" PRIMARY KEY,
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      actor_id text COLLATE "C" NOT NULL UNIQUE REFERENCES actors,
      definition_type text NOT NULL DEFAULT 'custom',
      category_code text NOT NULL,
      trigger_type text NOT NULL,
      name text NOT NULL,
      slug text NOT NULL,
      description text,
      status text NOT NULL DEFAULT 'active',
      role_id text COLLATE "C" REFERENCES roles,
      system_prompt text,
      tier text,
      temperature double precision,
      trigger_config jsonb,
      endpoint_tool_slugs text[] NOT NULL DEFAULT '{}',
      endpoint_tool_review jsonb NOT NULL DEFAULT '{}',
      tools jsonb NOT NULL DEFAULT '[]',
      created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
      UNIQUE (account_id, slug)
    )`.execute(db);
  await sql`
    CREATE INDEX agent_definitions_of_account ON agent_definitions (account_id, created_at, id)`.execute(db);
}
