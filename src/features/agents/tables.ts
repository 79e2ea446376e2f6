import type { OccurrenceOutcome, SkipReason } from '@parley/protocol/resources/agent-run.ts';
import type { Time } from '../../platform/db/tables/touched.ts';

declare module '../../platform/db/tables/schema.ts' {
  interface Schema extends AgentTables {}
}

interface AgentTables {
  artifacts: {
    id: string;
    account_id: string;
    run_id: string;
    s3_key: string;
    filename: string;
    content_type: string;
    size_bytes: number;
    created_at: Time;
  };

  agent_occurrences: {
    agent_id: string;
    due_at: string;
    outcome: OccurrenceOutcome;
    reason: SkipReason | null;
    run_id: string | null;
    created_at: Time;
  };
}
