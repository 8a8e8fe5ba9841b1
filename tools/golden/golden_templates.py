"""Writes tests/golden/text/templates.jsonl: chat templates, variables, and the text that transformers makes of them.

    golden_templates.py OUT        each line {"template", "variables", "text"}; text is null after an error

The templates are written in the ways in which publishers write theirs (ChatML, LLaMA 2 to 3.2, Gemma, Mistral, Qwen,
Phi, DeepSeek, SmolLM, Zephyr), with other words. The time is 2025-01-02 03:04:05. Needs transformers 5 and jinja2."""
import datetime
import json
import random
import re
import sys

from transformers.utils import chat_template_utils as utils

NOW = datetime.datetime(2025, 1, 2, 3, 4, 5)


class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


utils.datetime = Clock

TEMPLATES = {
    "chatml": "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
              "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "first system": "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
                    "{{ '<|im_start|>system\nBe brief<|im_end|>\n' }}{% endif %}"
                    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
                    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "llama 2": "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}"
               "{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}"
               "{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
               "{{ raise_exception('Roles must alternate user/assistant/...') }}{% endif %}"
               "{% if loop.index0 == 0 and system_message != false %}"
               "{% set content = '<<S>>\\n' + system_message + '\\n<</S>>\\n\\n' + message['content'] %}"
               "{% else %}{% set content = message['content'] %}{% endif %}"
               "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
               "{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}",
    "llama 3": "{% set loop_messages = messages %}{% for message in loop_messages %}"
               "{% set content = '<|header|>' + message['role'] + '<|/header|>\n\n'+ message['content'] | trim + '<|eot|>' %}"
               "{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}"
               "{% if add_generation_prompt %}{{ '<|header|>assistant<|/header|>\n\n' }}{% endif %}",
    "llama 3.1": """{{- bos_token }}
{%- if own_tools is defined %}
    {%- set tools = own_tools %}
{%- endif %}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "1 Jan 2025" %}
    {%- endif %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}

{#- The system message has a place of its own. #}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|h|>system<|/h|>\\n\\n" }}
{%- if tools is not none %}
    {{- "Tools:\\n" }}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{{- "Today: " + date_string + "\\n" }}
{{- system_message }}
{{- "<|e|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|h|>' + message['role'] + '<|/h|>\\n\\n'+ message['content'] | trim + '<|e|>' }}
    {%- elif 'tool_calls' in message %}
        {%- if not message.tool_calls|length == 1 %}
            {{- raise_exception("One call at once!") }}
        {%- endif %}
        {%- set call = message.tool_calls[0].function %}
        {{- '{"name": "' + call.name + '", "parameters": ' }}
        {{- call.arguments | tojson }}
        {{- "}<|e|>" }}
    {%- else %}
        {%- if message.content is mapping or message.content is iterable %}
            {{- message.content | tojson }}
        {%- else %}
            {{- message.content }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|h|>assistant<|/h|>\\n\\n' }}
{%- endif %}
""",
    "gemma": "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system') }}{% endif %}"
             "{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
             "{{ raise_exception('Alternate') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}"
             "{% else %}{% set role = message['role'] %}{% endif %}"
             "{{ '<turn>' + role + '\n' + message['content'] | trim + '</turn>\n' }}{% endfor %}"
             "{% if add_generation_prompt %}{{'<turn>model\n'}}{% endif %}",
    "gemma 3": """{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if messages[0]['content'] is string -%}
        {%- set first_user_prefix = messages[0]['content'] + '\n\n' -%}
    {%- else -%}
        {%- set first_user_prefix = messages[0]['content'][0]['text'] + '\n\n' -%}
    {%- endif -%}
    {%- set loop_messages = messages[1:] -%}
{%- else -%}
    {%- set first_user_prefix = "" -%}
    {%- set loop_messages = messages -%}
{%- endif -%}
{%- for message in loop_messages -%}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Alternate") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<turn>' + role + '\n' + (first_user_prefix if loop.first else "") }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}
            {%- if item['type'] == 'image' -%}
                {{ '<image>' }}
            {%- elif item['type'] == 'text' -%}
                {{ item['text'] | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("Invalid content type") }}
    {%- endif -%}
    {{ '</turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<turn>model
'}}
{%- endif -%}
""",
    "mistral": """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- if not tools is defined %}
    {%- set tools = none %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{%- set ns = namespace() %}
{%- set ns.index = 0 %}
{%- for message in loop_messages %}
    {%- if not (message.role == "tool" or (message.tool_calls is defined and message.tool_calls is not none)) %}
        {%- if (message["role"] == "user") != (ns.index % 2 == 0) %}
            {{- raise_exception("Alternate") }}
        {%- endif %}
        {%- set ns.index = ns.index + 1 %}
    {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if tools is not none and (message == user_messages[-1]) %}
            {{- "[TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}
                        {{- ", " }}
                    {%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {{- ", " if not loop.last else "]" }}
            {%- endfor %}
            {{- "[/TOOLS]" }}
        {%- endif %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif message.tool_calls is defined and message.tool_calls is not none %}
        {{- "[CALLS] [" }}
        {%- for call in message.tool_calls %}
            {%- set out = call.function|tojson %}
            {{- out[:-1] }}
            {{- ', "id": "' + call.id + '"}' }}
            {{- ", " if not loop.last else "]" + eos_token }}
        {%- endfor %}
    {%- elif message["role"] == "assistant" %}
        {{- " " + message["content"]|trim + eos_token}}
    {%- elif message["role"] == "tool" %}
        {%- if message.content is defined and message.content.content is defined %}
            {%- set content = message.content.content %}
        {%- else %}
            {%- set content = message.content %}
        {%- endif %}
        {{- '[RESULT] {"content": ' + content|string + "}" }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles, please!") }}
    {%- endif %}
{%- endfor %}
""",
    "qwen 2.5": """{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0]['role'] == 'system' %}
        {{- messages[0]['content'] }}
    {%- else %}
        {{- 'Be of help.' }}
    {%- endif %}
    {{- "\\n\\n# Tools\\n\\n<tools>" }}
    {%- for tool in tools %}
        {{- "\\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\\n</tools>\\n<tool_call>\\n{\\"name\\": <name>, \\"arguments\\": <args>}\\n</tool_call><|im_end|>\\n" }}
{%- else %}
    {%- if messages[0]['role'] == 'system' %}
        {{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>system\\nBe of help.<|im_end|>\\n' }}
    {%- endif %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant" and not message.tool_calls) %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}
            {{- '\\n' + message.content }}
        {%- endif %}
        {%- for tool_call in message.tool_calls %}
            {%- if tool_call.function is defined %}
                {%- set tool_call = tool_call.function %}
            {%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' }}
            {{- tool_call.name }}
            {{- '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- elif message.role == "tool" %}
        {%- if (loop.index0 == 0) or (messages[loop.index0 - 1].role != "tool") %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<answer>\\n' }}
        {{- message.content }}
        {{- '\\n</answer>' }}
        {%- if loop.last or (messages[loop.index0 + 1].role != "tool") %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "qwen 3": """{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step_tool and message.role == "user" and message.content is string and not(message.content.startswith('<answer>') and message.content.endswith('</answer>')) %}
        {%- set ns.multi_step_tool = false %}
        {%- set ns.last_query_index = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- if message.content is string %}
        {%- set content = message.content %}
    {%- else %}
        {%- set content = '' %}
    {%- endif %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set thoughts = '' %}
        {%- if message.reasoning_content is string %}
            {%- set thoughts = message.reasoning_content %}
        {%- else %}
            {%- if '</think>' in content %}
                {%- set thoughts = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
                {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
            {%- endif %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query_index %}
            {%- if loop.last or (not loop.last and thoughts) %}
                {{- '<|im_start|>' + message.role + '\\n<think>\\n' + thoughts.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
            {%- else %}
                {{- '<|im_start|>' + message.role + '\\n' + content }}
            {%- endif %}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
    "zephyr": "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n"
              "{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n"
              "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n"
              "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
    "phi": "{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\n' + message['content'] + '<|end|>\n'}}"
           "{% elif message['role'] == 'user' %}{{'<|user|>\n' + message['content'] + '<|end|>\n'}}"
           "{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}"
           "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}",
    "phi 4": "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + ('<|tools|>' ~ (message['tools'] | tojson) if "
             "'tools' in message and message['tools'] is not none else '') + '<|end|>' }}{% endfor %}"
             "{{ '<|assistant|>' if add_generation_prompt else '' }}",
    "deepseek": "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}"
                "{% set ns = namespace(is_first=false, is_tool=false, system_prompt='') %}{%- for message in messages %}"
                "{%- if message['role'] == 'system' %}{% set ns.system_prompt = message['content'] %}{%- endif %}{%- endfor %}"
                "{{bos_token}}{{ns.system_prompt}}{%- for message in messages %}{%- if message['role'] == 'user' %}"
                "{%- set ns.is_tool = false -%}{{'<｜U｜>' + message['content']}}{%- endif %}"
                "{%- if message['role'] == 'assistant' and message['content'] is none %}{%- set ns.is_tool = false -%}calls{%- endif %}"
                "{%- if message['role'] == 'assistant' and message['content'] is not none %}{%- if ns.is_tool %}"
                "{{'<｜o｜>' + message['content'] + eos_token}}{%- set ns.is_tool = false -%}{%- else %}{% set content = message['content'] %}"
                "{% if '</think>' in content %}{% set content = content.split('</think>')[-1] %}{% endif %}"
                "{{'<｜A｜>' + content + eos_token}}{%- endif %}{%- endif %}{%- endfor -%}"
                "{% if ns.is_tool %}{{'<｜o｜>'}}{% endif %}{% if add_generation_prompt and not ns.is_tool %}{{'<｜A｜><think>\\n'}}{% endif %}",
    "smollm 3": """{# ───── defaults ───── #}
{%- if enable_thinking is not defined -%}
{%- set enable_thinking = true -%}
{%- endif -%}
{# ───── mode ───── #}
{%- if enable_thinking -%}
  {%- set mode = "/think" -%}
{%- else -%}
  {%- set mode = "/no_think" -%}
{%- endif -%}
{%- if messages[0].role == "system" -%}
  {%- set system_message = messages[0].content -%}
  {%- if "/no_think" in system_message -%}
    {%- set mode = "/no_think" -%}
  {%- elif "/think" in system_message -%}
    {%- set mode = "/think" -%}
  {%- endif -%}
  {%- set instructions = system_message.replace("/no_think", "").replace("/think", "").rstrip() -%}
{%- endif -%}
{{- "<|im_start|>system\\n" -}}
  {%- set today = strftime_now("%d %B %Y") -%}
  {{- "## Metadata\\n\\n" -}}
  {{- "Today Date: " ~ today ~ "\\n" -}}
  {{- "Mode: " + mode + "\\n\\n" -}}
  {%- if instructions -%}
    {{- instructions + "\\n\\n" -}}
  {%- endif -%}
{{- "<|im_end|>\\n" -}}
{%- for message in messages -%}
    {%- set content = message.content if message.content is string else "" -%}
    {%- if message.role == "user" -%}
        {{ "<|im_start|>" + message.role + "\\n"  + content + "<|im_end|>\\n" }}
    {%- elif message.role == "assistant" -%}
        {% generation %}
        {%- if mode == "/think" -%}
            {{ "<|im_start|>assistant\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
        {%- else -%}
            {{ "<|im_start|>assistant\\n" + "<think>\\n\\n</think>\\n" + content.lstrip("\\n") + "<|im_end|>\\n" }}
        {%- endif -%}
        {% endgeneration %}
    {%- elif message.role == "tool" -%}
    {{ "<|im_start|>" + "user\\n"  + content + "<|im_end|>\\n" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ "<|im_start|>assistant\\n" }}
{%- endif -%}
""",
    "macros": """{%- macro of_type(schema) -%}
    {%- if schema.type == 'array' -%}list[{{ of_type(schema['items']) }}]
    {%- elif schema.type is defined -%}{{ {"string": "str", "number": "float", "boolean": "bool"}.get(schema.type, schema.type | upper) }}
    {%- else -%}Any{%- endif -%}
{%- endmacro -%}
{%- macro head(role, end='|', more=none) -%}
<{{ role }}{{ end }}{% if more is not none %}{{ more }}{% endif %}>
{%- endmacro -%}
{%- for tool in tools or [] %}
def {{ tool.function.name }}(
{%- for name, value in tool.function.parameters.properties.items() -%}
{{ name }}: {{ of_type(value) }}{{ ", " if not loop.last }}
{%- endfor %}):
    {{ tool.function.description | default("no words", true) }} {{ tool.function.parameters.required | default([]) | join(" and ") }}
{% endfor -%}
{% for message in messages %}{{ head(message.role, more=loop.index) }}{{ message.content }}{{ head("end", "!") }}
{% endfor %}{% if add_generation_prompt %}{{ head('assistant') }}{% endif %}""",
}

# Parts of the language: without messages.
PARTS = """{{ 1 + 2 * 3 }}|{{ (1 + 2) * 3 }}|{{ 7 // 2 }}|{{ -7 // 2 }}|{{ -7 % 3 }}|{{ 7 % -3 }}|{{ 1 / 4 }}|{{ 2.5 * 2 }}|{{ 1e }}
{{ 1 / 3 }}|{{ 100 / 1 }}|{{ 1000000000000000 * 100 / 1 }}|{{ 1 / 100000 }}|{{ 3.0 }}|{{ 0.1 + 0.2 }}|{{ -0.5 }}
{{ true }} {{ True }} {{ none }} {{ None }} {{ false }}|{{ 'a' ~ 1 ~ none ~ true ~ 2.5 }}|{{ 1 ~ 2 + 3 | string }}
{{ 'a' if false }}|{{ 'a' if x else 'b' }}|{{ 'a' if true else 'b' if true else 'c' }}|{{ x or 'other' }}|{{ l and 'some' }}
{{ x }}|{{ x is defined }}|{{ x is undefined }}|{{ l is not defined }}|{{ x == y }}|{{ x != 1 }}|{{ x | default('d') }}|{{ '' | default('d', true) }}|{{ 0 | d('e', boolean=true) }}
{{ x.y }}
{{ x['y'] }}
{{ x + 'a' }}
{{ x < 1 }}
{{ x ~ 'a' }}|{{ x | trim }}|{{ x | length }}|{{ x | upper }}|{{ x | list | length }}|{{ x | first }}|{{ x | join(',') }}|{{ 'a' in x }}|{{ x in l }}
{% for a in x %}a{% else %}none{% endfor %}
{{ none.a }}|{{ s.nothing }}|{{ l.nothing }}|{{ l[99] }}|{{ l[-1] }}|{{ l[-99] }}|{{ s[0] }}|{{ s[-1] }}|{{ s[99] }}|{{ d['none'] }}|{{ d.a }}|{{ d['a'] }}|{{ l.0 }}|{{ l['a'] }}
{{ s[1:] }}|{{ s[:-1] }}|{{ s[::-1] }}|{{ s[1:4:2] }}|{{ s[10:] }}|{{ l[1:] | join }}|{{ l[::-1] | join('-') }}|{{ l[:2] | tojson }}|{{ l[-2:] | tojson }}|{{ l[3:0:-1] | tojson }}
{{ 'a' < 'b' }}|{{ 1 < 2 }}|{{ 2 <= 2.0 }}|{{ 1 == 1.0 }}|{{ true == 1 }}|{{ 'a' == 'a' }}|{{ l == l }}|{{ [1, 2] == [1, 2.0] }}|{{ {'a': 1} == {'a': 1} }}|{{ none == false }}|{{ '1' == 1 }}
{{ 1 in [1, 2] }}|{{ 'b' in 'abc' }}|{{ 'a' in d }}|{{ 'q' not in d }}|{{ '' in 'abc' }}|{{ not 'a' in 'abc' }}|{{ 3 in 'abc' }}
{{ l in none }}
{{ 'ABC abc' | lower }}|{{ 'ABC abc' | upper }}|{{ 'aBC abc' | capitalize }}|{{ 'aBC abc' | title }}|{{ '<a-b c(d' | title }}|{{ "it's x<y" | title }}|{{ "it's".title() }}|{{ ' \\n a \\t ' | trim }}|{{ 'xxaxx' | trim('x') }}|{{ 'a b a' | replace('a', 'c') }}|{{ 'aaa' | replace('a', 'b', 2) }}
{{ '\\u00a0\\u3000 ä \\u2003'.strip() }}|{{ 'äöä'.strip('ä') }}|{{ 'xxaxx'.lstrip('x') }}|{{ 'xyaxy'.rstrip('yx') }}|{{ ' a b '.split() | tojson }}|{{ 'a--b--c'.split('--', 1) | tojson }}|{{ 'a,b'.rsplit(',') | tojson }}|{{ ' a  b c '.split(none, 1) | tojson }}|{{ ''.split() | tojson }}|{{ ''.split(',') | tojson }}
{{ 'abc'.startswith('ab') }}|{{ 'abc'.endswith(('x', 'c')) }}|{{ 'abc'.replace('b', '') }}|{{ 'äbc'.find('c') }}|{{ 'abc'.find('q') }}|{{ 'aXa'.count('a') }}|{{ ', '.join(['a', 'b']) }}|{{ 'abc'.removeprefix('a') }}|{{ 'abc'.removesuffix('c') }}|{{ 'aB'.upper() }}|{{ 'AB'.lower() }}|{{ 'hello world'.title() }}|{{ 'hELLO'.capitalize() }}
{{ d.items() | list | length }}|{{ d.keys() | join(',') }}|{{ d.values() | list | tojson }}|{{ d.get('a') }}|{{ d.get('q') }}|{{ d.get('q', 'r') }}|{{ d | length }}|{{ d | list | tojson }}|{{ (d | items | list)[0] | join(':') }}
{{ l | length }}|{{ s | length }}|{{ l | first }}|{{ l | last }}|{{ [] | first }}|{{ s | first }}|{{ l | reverse | list | tojson }}|{{ s | reverse }}|{{ l | join(', ') }}|{{ rows | join(', ', attribute='n') }}|{{ s | list | tojson }}|{{ '3' | int + 1 }}|{{ 'x' | int }}|{{ 3.9 | int }}|{{ ' 12 ' | int }}
{{ rows | selectattr('n', 'eq', 2) | list | tojson }}|{{ rows | selectattr('f') | map(attribute='n') | list | tojson }}|{{ rows | rejectattr('n', 'gt', 1) | list | tojson }}|{{ rows | rejectattr('f') | list | tojson }}|{{ l | select('odd') | list | tojson }}|{{ l | reject('in', [1, 2]) | list | tojson }}|{{ ['a', 'b'] | map('upper') | join }}|{{ rows | map(attribute='p.q', default='-') | join(',') }}|{{ ['aa', 'b'] | map('length') | list | tojson }}|{{ ['xa'] | map('replace', 'x', 'y') | first }}
{{ t | tojson }}|{{ t | tojson(indent=2) }}|{{ [] | tojson(indent=2) }}|{{ {} | tojson }}|{{ {} | tojson(indent=1) }}|{{ '<&>"\\\\/ä\\u0001\\x7f' | tojson }}|{{ none | tojson }}|{{ true | tojson }}|{{ 1.5 | tojson }}|{{ 1.0 | tojson }}|{{ t | tojson(separators=(',', ':')) }}|{{ t | tojson(indent=1, separators=(' ;', '=')) }}|{{ '<' | safe }}|{{ none | map('upper') | list | tojson }}|{{ none | selectattr('a') | list | length }}|{{ [1, [2, {'a': []}]] | tojson(indent=4) }}
{{ 'a' 'b' "c" }}|{{ 'it\\'s' }}|{{ "\\"" }}|{{ '\\q\\n' }}|{{ '\\x41\\u00e4\\U0001F600' }}|{{ '日本'[1] }}|{{ '日本' | length }}
{{ s is string }}{{ 1 is string }}|{{ d is mapping }}|{{ l is iterable }}{{ s is iterable }}{{ 1 is iterable }}{{ none is iterable }}|{{ l is sequence }}|{{ 1 is number }}{{ true is number }}|{{ 1 is integer }}{{ true is integer }}|{{ 1.5 is float }}|{{ true is boolean }}{{ 1 is boolean }}|{{ none is none }}|{{ true is true }}{{ 1 is true }}|{{ false is false }}|{{ 3 is odd }}{{ 3 is even }}|{{ 9 is divisibleby 3 }}{{ 9 is divisibleby(2) }}|{{ 1 is eq 1 }}{{ 2 is in [1, 2] }}|{{ 1 is not none and 2 is defined }}|{{ 2 is gt(1) }}
{% set a = 1 %}{% for i in [1, 2] %}{{ a }}{% set a = 5 %}{{ a }}{% endfor %}{{ a }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, d2) = [3, 4] %}{{ c }}{{ d2 }}{% set e = 1, %}{{ e | tojson }}
{% set a, b = [1] %}
{% if false %}{% set z = 1 %}{% endif %}{{ z is defined }}{% if true %}{% set z = 2 %}{% endif %}{{ z }}
{% for a in [1, 2, 3] if a != 2 %}{{ a }}{{ loop.index }}{{ loop.length }}{{ loop.last }}{{ loop.first }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.previtem }}{{ loop.nextitem }} {% endfor %}
{% for a in [1, 2, 3, 4] %}{% if a == 2 %}{% continue %}{% endif %}{% if a == 4 %}{% break %}{% endif %}{{ a }}{% else %}no{% endfor %}|{% for a in [] %}{% else %}empty{% endfor %}
{% for a in [1, 2] %}{% for b in [3, 4] %}{{ a }}{{ b }}{{ loop.index }}{% break %}{% endfor %}{{ loop.index }}{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for c in 'aä' %}{{ c }}.{% endfor %}{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(5, 1, -2) %}{{ i }}{% endfor %}
{% for a in 5 %}{% endfor %}
{% set v %}  a{{ 1 }}{% endset %}[{{ v }}]{{ v is string }}
{% set n = namespace(a=1, b='x') %}{% for i in [1, 2] %}{% set n.a = n.a + i %}{% endfor %}{{ n.a }}{{ n.b }}{{ n.c is defined }}{{ n['a'] }}
{% macro m(a, b=2, c='z') %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, c=3) }}|{{ m() }}|{{ m(1, 2, 3) }}|{{ m(b=5, a=6) | upper }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{{ a }}{{ g }}{{ i }}{% endmacro %}{% set g = 'G' %}{% for i in [1] %}{{ m(i) }}{% endfor %}
{{ dict(a=1, b=2) | tojson }}|{{ dict({'a': 1}, b=3) | tojson }}|{{ strftime_now('%Y-%m-%d %H:%M:%S %j %a %A %b %B') }}
{{ raise_exception('x') }}
a  {%- if true -%}  b  {%- endif -%}  c|  {{- 1 -}}  |{#- c -#}  d
    {% if true %}
  e
    {% endif %}
  f {% if true %}g
 {% endif %} h
  {# comment #}
 i {# c #} j
 {%+ if true +%}
 k
 {%+ endif %}
l {{ 1 }}
   {{ 2 }}   
 {{ 3 }} {% set q = 1 %}
m
{% generation %}x{% endgeneration %}{{ '{{ }}' }}{{ '%}' }} }} %} #} { % } {
{{ [1, 2, 3,] | length }}{{ {'a': 1, } | length }}{{ (1, 2) | length }}{{ (1,) | length }}{{ () | length }}{{ ((1)) }}
{{ l | map('string') | join }}|{{ not true }}|{{ not x }}|{{ not 1 == 2 }}|{{ - 3 + 5 }}|{{ +3 }}|{{ 2 - -1 }}|{{ -l[0] }}|{{ 'a' * 2 == 3 }}
{{ 'x' is in }}
{{ 1 +}}
{{ }}
{% if %}{% endif %}
{% for in x %}{% endfor %}
{{ 'a' | }}
{% if true %}{% else %}{% else %}{% endif %}""".split("\n")
VARIABLES = {"s": "héllo", "l": [1, 2, 3, 4], "d": {"a": 1, "b": "two"}, "rows": [{"n": 1, "f": True}, {"n": 2, "f": False}, {"n": 2}],
             "t": {"name": "f", "of": [1, 2.5, True, None, "ü\n"], "none": {}, "list": []}}

WORDS = ["a red house", "  the old river \n", "日本 語", "<think>\nwell\n</think>\n\nyes", "ä\u00a0", "", "1 < 2 & \"3\"", "/no_think be brief", "it's", "\\n {{ x }}",
         "<answer>q</answer>", "<|im_end|>", "\u3000x\u2003", "a\tb"]
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "the \"weather\" of a town", "parameters": {
    "type": "object", "properties": {"town": {"type": "string"}, "days": {"type": "array", "items": {"type": "number", "minimum": 0.5}}},
    "required": ["town"]}}}, {"type": "function", "function": {"name": "time", "description": "", "parameters": {"type": "object", "properties": {}}}}]


def messages(rng):
    """Messages in turns; a few have roles in another order, tools, or content in parts."""
    out = [{"role": "system", "content": rng.choice(WORDS)}] if rng.random() < 0.4 else []
    for i in range(rng.randrange(1, 6)):
        role = "user" if i % 2 == 0 else "assistant"
        if rng.random() < 0.08:
            role = rng.choice(["user", "assistant", "system", "tool"])
        content = rng.choice(WORDS)
        if rng.random() < 0.1:
            content = [{"type": "text", "text": rng.choice(WORDS)} for _ in range(rng.randrange(1, 3))]
        message = {"role": role, "content": content}
        if role == "assistant" and rng.random() < 0.1:
            message["reasoning_content"] = rng.choice(WORDS)
        if role == "assistant" and rng.random() < 0.15:
            call = {"type": "function", "id": "abcdefghi", "function": {"name": "weather", "arguments": {"town": rng.choice(WORDS), "days": [1, 2]}}}
            message = {"role": role, "tool_calls": [call] * rng.choice([1, 1, 2]), **({"content": content} if rng.random() < 0.5 else {})}
            out.append(message)
            message = {"role": "tool", "content": rng.choice(WORDS), "tool_call_id": "abcdefghi"}
        out.append(message)
    return out


def variables(rng):
    out = {"messages": messages(rng), "add_generation_prompt": rng.random() < 0.8, "bos_token": "<s>", "eos_token": "</s>"}
    if rng.random() < 0.25:
        out["tools"] = rng.sample(TOOLS, rng.randrange(1, 3))
    if rng.random() < 0.1:
        out["enable_thinking"] = rng.random() < 0.5
    return out


def row(template, given):
    try:
        text = utils._compile_jinja_template(template).render(**given)
    except Exception:                                      # whatever Jinja or Python raises
        text = None
    return {"template": template, "variables": given, "text": text}


def as_strings(given):
    """Content in parts as one string, as servers give it to templates that do not go through the parts."""
    for m in given["messages"]:
        if isinstance(m.get("content"), list):
            m["content"] = "\n".join(part["text"] for part in m["content"])
    return given


def rows(templates, times, seed):
    rng = random.Random(seed)
    for template in templates:
        parts = re.search(r"for \w+ in (\w+\.content|\w+\[.content.\]|content)\W", template)
        for _ in range(times):
            given = variables(rng)
            yield row(template, given if parts else as_strings(given))


if __name__ == "__main__":
    whole = "\n".join(PARTS)
    start, end = whole.index("a  {%- if"), whole.index("{% generation %}")
    parts = whole[:start].split("\n")[:-1] + [whole[start:end]] + whole[end:].split("\n")
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        for x in [row(p, VARIABLES) for p in parts] + list(rows(TEMPLATES.values(), 6, 1)):
            f.write(json.dumps(x, ensure_ascii=False) + "\n")
