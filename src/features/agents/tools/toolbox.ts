import { ApiError } from '@parley/protocol/errors/errors.ts';
import { EVERY_ENDPOINT_TOOL } from '@parley/protocol/resources/agent-definition.ts';
import { hasOpenJson } from '@parley/protocol/schema/open-json.ts';
import { compile, parseObject } from '@parley/protocol/validation/validation.ts';
import type { TSchema } from 'typebox';
import type { EndpointCaller } from '../../../core/endpoint-tools/endpoint-call.ts';
import type { AgentRow } from '../../../core/resources/agent.ts';
import type { AttachedTool } from '../../../core/tables/agent-tables.ts';
import type { GuardedFetch } from '../../../platform/outbound/guarded-fetch.ts';
import { askPersonTool } from './ask-person.ts';
import type { ToolCatalogue } from './catalogue.ts';
import { createArtifactTool } from './create-artifact.ts';
import { endpointTool } from './endpoint-tool.ts';
import { fetchUrlTool } from './fetch-url.ts';
import { type ReadDocOptions, readDocTool } from './read-doc.ts';
import { type RunTool, ToolRefusal } from './tool.ts';

export interface ToolboxOptions extends ReadDocOptions {
  readonly catalogue: Pick<ToolCatalogue, 'endpoints'>;
  readonly caller: EndpointCaller;
  readonly web: GuardedFetch;
}

/** Makes the tools of agents for use in runs. */
export class Toolbox {
  readonly #options: ToolboxOptions;

  constructor(options: ToolboxOptions) {
    this.#options = options;
  }

  /** Returns attached tools in order, then endpoint tools by slug, without removed tools. */
  toolsFor({
    tools,
    endpoint_tool_slugs: slugs,
    endpoint_tool_review: review,
  }: Pick<AgentRow, 'tools' | 'endpoint_tool_slugs' | 'endpoint_tool_review'>): readonly RunTool[] {
    const { catalogue, caller } = this.#options;
    const isGranted = (slug: string) => slugs.includes(EVERY_ENDPOINT_TOOL) || slugs.includes(slug);
    const granted = [...catalogue.endpoints].filter(([slug]) => isGranted(slug));
    return [
      ...tools.map((attached) => this.#builtIn(attached)),
      ...granted.map(([slug, facts]) => {
        const needsReview = review[slug] === true || CHANGING_AGENTS.has(slug);
        return endpointTool(slug, facts, { caller, needsReview });
      }),
    ];
  }

  #builtIn(attached: AttachedTool): RunTool {
    switch (attached.tool) {
      case 'create_artifact':
        return createArtifactTool(attached, this.#options);
      case 'read_doc':
        return readDocTool(attached, this.#options);
      case 'fetch_url':
        return fetchUrlTool(attached, this.#options.web);
      case 'ask_person':
        return askPersonTool(attached, this.#options.caller);
    }
  }
}

/** Tools with which an agent could escape its reviews, through a twin or a stronger agent. */
const CHANGING_AGENTS: ReadonlySet<string> = new Set(['create-agent', 'update-agent']);

/**
 * Parses a call's arguments: an object that fits the tool's schema, without optional fields that
 * are null. Throws ToolRefusal with the problem, for the model to read.
 */
export function parseArguments({ spec }: Pick<RunTool, 'spec'>, text: string): Record<string, unknown> {
  if (text.length > MAX_CHARACTERS) {
    throw new ToolRefusal('validation_failed', `Arguments have at most ${MAX_CHARACTERS} characters.`);
  }
  try {
    // A catalogue has dozens of tools, most of them never called. ajv caches the result.
    const validate = compile(spec.parameters as TSchema);
    const keepsDigits = hasOpenJson(spec.parameters);
    return validate(parseObject(text.trim() === '' ? '{}' : text, keepsDigits)) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { condition, message, param } = error;
    throw new ToolRefusal(condition, param === null ? message : `${param}: ${message}`, error);
  }
}

/** The largest artifact, escaped as JSON. */
const MAX_CHARACTERS = 2_097_152;
