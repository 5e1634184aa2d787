package debian

// What the interpreters run: short, but through much of them.
const (
	perl = `my %h; for my $i (1..4000) { $h{"k".($i%97)} .= sprintf("%x,", $i*7) }
for (sort {length $h{$a} <=> length $h{$b} or $a cmp $b} keys %h) { (my $x = $h{$_}) =~ s/(\w+),/<$1>/g; print substr($x,0,40), "\n" }
sub f { my $n = shift; $n<2 ? $n : f($n-1)+f($n-2) } print f(15), "\n";
eval { die {a=>1} }; local $_ = "abc" x 50; tr/a-c/A-C/; print reverse split //;
print pack("N*",1..40), unpack("%32C*",$_); $SIG{USR1} = sub { print "signal" }; kill USR1 => $$`

	python = `import re,json
d = {str(i):[i,i*1.5,{"a":"b%d"%i}] for i in range(60)}
s = json.dumps(d)
print(len(json.loads(s)), re.sub(r"(\d+)", lambda m: m.group(1)[::-1], s)[:50])
def f(n): return n if n < 2 else f(n-1)+f(n-2)
print(f(12), sorted(range(200), key=lambda x: -x*7%13)[:5], 3**500%1000007)
try: 1/0
except ZeroDivisionError as e: print(e)`

	sql = `create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<400) insert into t select i, hex(i*i)||printf("%05d",i), i/3.0 from n;
create index x on t(b);
select count(*), sum(c), max(b), group_concat(substr(b,2,3)) from t where b like "3%" or c>100 group by a%7 order by 2 desc;
update t set b = upper(replace(b,"3","x")) where a in (select a from t where a%5=0);
select t1.a from t t1 join t t2 on t1.b=t2.b where t1.c between 20 and 40;
pragma integrity_check; delete from t where a>20; select json_object("a",a,"b",b) from t;`

	lua = `local t = {} for i=1,900 do t[i] = (i*7919)%1009 end
table.sort(t, function(a,b) return a>b end)
local s = table.concat(t, ",") print(#s:gsub("%d+", function(d) return d:reverse() end))
local co = coroutine.wrap(function() for i=1,50 do coroutine.yield(i) end end) for i=1,50 do co() end
print(pcall(error, {1})) print(string.format("%q %5.3f", s:sub(1,30), math.sin(1)))
local function f(n) if n<2 then return n end return f(n-1)+f(n-2) end print(f(14)) print(load("return 1+1")())
setmetatable(t, {__index=function(t,k) return k end}) print(t.x, select("#", table.unpack(t)))`

	jq = `[range(120)|{a:.,b:(.*1.5|tostring),c:[.,"x"]}]|map(select(.a%3==0)|.b+=("z"|ascii_upcase))|sort_by(-.a)|group_by(.a%5)|[.[]|length]+[(try error("x") catch .)]`

	awk = `{n=split($0,a," "); for(i=1;i<=n;i++) c[a[i]]++; gsub(/[aeiou]+/,"<&>"); s=s substr($0,3,5)}
END{for(k in c) t=t k; print length(t), length(s), sprintf("%-10s|%5.2f",s,3.14159); for(i=0;i<500;i++) x+=sin(i)*exp(-i/9); print x}`

	korn = `function f { typeset i=$1; (( i > 0 )) && f $((i-1)); x="$x${i}"; }
for j in 1 2 3 4 5 6 7 8; do f $j; done; a=(${x//3/ }); print ${#a[*]} ${x//[1-3]/z}
case $x in *876*) print yes;; esac; printf "%s\n" "${a[@]}"; read l < text.txt; print "$l"`

	ash = `i=0; f() { case $1 in *[13579]) x="$x$1";; *) y=${x%1*};; esac; [ $1 -gt 0 ] && f $(( $1 - 1 )); }
while [ $i -lt 30 ]; do f $i; i=$((i+1)); done; echo $x $y; printf "%5d %s\n" 1 a 2 b
trap "echo signal" USR1; kill -USR1 $$; read l < text.txt; echo ${#l}`
)
