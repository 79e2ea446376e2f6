import { Combobox } from '@parley/ui/choices/combobox.tsx';
import { usePaused } from '@parley/ui/choices/use-found.ts';
import { withoutNull } from '@parley/ui/form/json-schema.ts';
import { labelOf, sentenceOf } from '@parley/ui/form/labels.ts';
import { useEvent } from '@parley/ui/hooks/use-event.ts';
import { useEffect, useId, useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import type { Operation, Parameter } from './api-document.ts';
import { useAdministration } from './use-administration.ts';

/** The query of a list by the names of its parameters; empty texts are left out. */
export type FilterValues = Readonly<Record<string, string>>;

export interface FiltersProps {
  readonly operation: Operation;
  readonly values: FilterValues;
  readonly onValues: (values: FilterValues) => void;
}

/** Parameters that are no filters, or repeat one. */
const OTHERS: ReadonlySet<string> = new Set(['cursor', 'limit', 'search', 'include[]', 'metadata']);
const WORDS = 'q';

/** The search and the filters that the endpoint of a list has. */
export function Filters({ operation, values, onValues }: FiltersProps) {
  const filters = operation.query.filter(({ name }) => !OTHERS.has(name));
  // Words come first, whatever the order of the document.
  const sorted = [...filters].sort((a, b) => Number(b.name === WORDS) - Number(a.name === WORDS));
  if (sorted.length === 0) return null;
  return (
    <search class="filters" aria-label={texts.administration.filters}>
      {sorted.map((parameter) => (
        <Filter
          key={parameter.name}
          parameter={parameter}
          value={values[parameter.name] ?? ''}
          onValue={(value) => onValues({ ...values, [parameter.name]: value })}
        />
      ))}
    </search>
  );
}

interface FilterProps {
  readonly parameter: Parameter;
  readonly value: string;
  readonly onValue: (value: string) => void;
}

function Filter({ parameter: { name, schema }, value, onValue }: FilterProps) {
  const id = useId();
  const { api, special: specialOf } = useAdministration();
  const { schema: one } = withoutNull(schema.items ?? schema, api.resolve);
  const label = name === WORDS ? texts.administration.search : labelOf(name.replace('[]', ''));
  const special = specialOf(name, one);
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      {one.enum !== undefined ? (
        <select id={id} value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
          <option value="">{texts.administration.all}</option>
          {one.enum.map((member) => (
            <option key={String(member)} value={String(member)}>
              {sentenceOf(String(member).replace('.', ': '))}
            </option>
          ))}
        </select>
      ) : special?.kind === 'choices' ? (
        <Combobox
          id={id}
          label={label}
          value={value}
          onPick={onValue}
          find={special.find}
          labelOf={special.labelOf}
        />
      ) : (
        <Words id={id} value={value} onValue={onValue} />
      )}
    </div>
  );
}

function Words({ id, value, onValue }: Omit<FilterProps, 'parameter'> & { readonly id: string }) {
  const [text, setText] = useState(value);
  const say = useEvent(onValue);
  const paused = usePaused(text);
  useEffect(() => {
    if (paused !== value) say(paused);
  }, [paused, value, say]);
  return (
    <input id={id} type="search" value={text} onInput={({ currentTarget }) => setText(currentTarget.value)} />
  );
}
